// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Tap is what one call of a ListerWatcher has in its context. The transport offers it the answers
// to the requests of the call, of which it takes the one that was asked for.
type Tap struct {
	options metav1.ListOptions
	watches bool
	decoder func(Encoding) (sure, bool) // of the items of a list; nil for a watch, which teaches it
	reading reading                     // of a list
	ledger  *Ledger                     // hears of the bytes of a list; nil for a watch
	asks    *Ledger                     // hears where requests go; nil: nobody does

	mu struct {
		sync.Mutex
		over     bool      // the call has returned: nothing is taken any more
		seen     bool      // a transport has found the tap
		sent     time.Time // the last request, about
		silent   bool      // the last request got no answer
		several  bool      // more than one answer could have been taken
		why      string    // the last answer was not taken
		encoding Encoding  // of the one that was
		held     *held     // a watch
		list     *listBody // a list
	}
}

// Begin notes that a transport sends a request of the call now, and returns it for the transports
// below, without its tap.
func (t *Tap) Begin(req *http.Request) *http.Request {
	t.mu.Lock()
	t.mu.sent = time.Now()
	t.mu.Unlock()
	if t.asks != nil && req.URL != nil {
		t.asks.host.Store(&req.URL.Host)
		if t.asksFor(req) {
			t.Ask(req.URL)
		}
	}
	if t.ledger != nil {
		t.ledger.receives(&received{}) // whose body is not there yet
	}
	return Hidden(req)
}

// Ask notes what the call asks for, unless another has told that before. The tap may be nil.
func (t *Tap) Ask(u *url.URL) {
	if t == nil || t.asks == nil || t.asks.target.Load() != nil {
		return
	}
	if target := TargetOf(u); !target.IsZero() {
		t.asks.target.CompareAndSwap(nil, &target)
	}
}

// Offer takes the body of a response, and puts a substitute into its place, if it is what the tap
// is for. The request is the one that was sent; the response is nil if it got none.
func (t *Tap) Offer(req *http.Request, resp *http.Response) {
	t.receives(resp)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.seen, t.mu.silent = true, resp == nil
	if t.mu.over || resp == nil || resp.StatusCode != http.StatusOK || resp.Body == nil || !t.asksFor(req) {
		return
	}
	encoding, why := encodingOf(resp)
	switch {
	case why != "":
		t.mu.why = why
	case t.mu.held != nil || t.mu.list != nil:
		t.mu.several = true
	case t.watches:
		t.mu.encoding, t.mu.held = encoding, newHeld(resp.Body)
		resp.Body = t.mu.held
	default:
		t.takeListLocked(encoding, req, resp)
	}
}

// receives has the ledger hear of the bytes of a list, whoever decodes it.
func (t *Tap) receives(resp *http.Response) {
	if t.ledger == nil {
		return
	}
	var list *received
	if resp != nil && resp.Body != nil {
		list = &received{resp.Body, t.ledger}
		resp.Body = list
	}
	t.ledger.receives(list)
}

func (t *Tap) takeListLocked(encoding Encoding, req *http.Request, resp *http.Response) {
	decoder, known := t.decoder(encoding)
	if !known {
		t.mu.why = "there is no decoder for the type in " + string(encoding)
		return
	}
	t.mu.encoding = encoding
	until := t.mu.sent.Add(longList)
	if _, timed := req.Context().Deadline(); timed {
		until = time.Time{}
	}
	t.mu.list = &listBody{reading: t.reading, over: t.isOver, real: resp.Body, decoder: decoder, until: until}
	resp.Body = t.mu.list
	resp.ContentLength = -1 // unknown for the substitute
	if resp.Header.Get("Content-Length") != "" {
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Content-Length")
	}
}

// asksFor reports whether the request is the one that was asked for, and not another one that the
// same call makes, or one whose options somebody has changed.
func (t *Tap) asksFor(req *http.Request) bool {
	if req.Method != http.MethodGet || req.URL == nil {
		return false
	}
	query, limit := req.URL.Query(), ""
	if t.options.Limit != 0 {
		limit = strconv.FormatInt(t.options.Limit, 10)
	}
	watches, _ := strconv.ParseBool(query.Get("watch"))
	return watches == t.watches &&
		query.Get("resourceVersion") == t.options.ResourceVersion &&
		query.Get("resourceVersionMatch") == string(t.options.ResourceVersionMatch) &&
		query.Get("continue") == t.options.Continue &&
		query.Get("limit") == limit
}

// encodingOf returns how a body is written, or why it is none for us.
func encodingOf(resp *http.Response) (e Encoding, why string) {
	if coding := resp.Header.Get("Content-Encoding"); coding != "" {
		return "", "content encoding " + strconv.Quote(coding)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return "", "the content type cannot be read"
	case media == runtime.ContentTypeJSON:
		return JSON, ""
	case media == runtime.ContentTypeProtobuf:
		return Protobuf, ""
	default:
		return "", "content type " + strconv.Quote(media)
	}
}

// taken is what a tap has come to when the call has returned.
type taken struct {
	seen, silent bool
	several      bool
	why          string
	encoding     Encoding
	held         *held
	list         *listBody
}

// end ends the taking.
func (t *Tap) end() taken {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.over = true
	return taken{t.mu.seen, t.mu.silent, t.mu.several, t.mu.why, t.mu.encoding, t.mu.held, t.mu.list}
}

// isOver reports whether the call has returned.
func (t *Tap) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.over
}

type contextKey struct{}

// into returns a context that brings t to the transport.
func into(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// From returns the tap of a request, nil if there is none.
func From(ctx context.Context) *Tap {
	t, _ := ctx.Value(contextKey{}).(*Tap)
	return t
}

// Hidden returns the request without its tap, for the transports below: of several of ours the
// outermost has it.
func Hidden(req *http.Request) *http.Request {
	return req.WithContext(into(req.Context(), nil))
}
