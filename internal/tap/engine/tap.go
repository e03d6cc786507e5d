// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/tap"
)

// Tap is in the context of one call of a ListerWatcher. The transport offers it the responses to
// the requests of the call, and it takes the body of the response to the request that it was made
// for.
type Tap struct {
	options metav1.ListOptions
	watches bool
	decoder func(e Encoding, drops bool) *decoder // of the items of a list; nil for a watch, whose type is learned
	reading reading                               // of a list
	ledger  *tap.Ledger                           // receives the progress of a list; nil for a watch
	asks    *tap.Ledger                           // receives the target of requests; may be nil
	drop    bool                                  // ask the server to leave out managed fields, in that request only

	mu struct {
		sync.Mutex
		over bool      // the call has returned: no body is taken any more
		sent time.Time // about the time of the last request
		taken
	}
}

// Begin records that a transport sends a request of the call now. It returns the request without
// the tap, for the transports below.
func (t *Tap) Begin(req *http.Request) *http.Request {
	t.mu.Lock()
	t.mu.sent = time.Now()
	t.mu.Unlock()
	if t.asks != nil && req.URL != nil {
		t.asks.Sends(&req.URL.Host)
		if t.asksFor(req) {
			t.Ask(req.URL)
			t.asks.Drops.Store(dropsManagedFields(req))
		}
	}
	if t.ledger != nil {
		t.ledger.Receives(nil) // its body is not known yet
	}
	hidden := Hidden(req)
	if t.drop && t.asksFor(req) {
		askToDrop(hidden)
	}
	return hidden
}

// Ask records the target of the call, unless a target is already known. The tap may be nil.
func (t *Tap) Ask(u *url.URL) {
	if t == nil || t.asks == nil || t.asks.HasTarget() {
		return
	}
	if target := targetOf(u); !target.IsZero() {
		t.asks.Ask(target)
	}
}

// Offer takes the body of a response and replaces it by a substitute, if the response is the one
// that the tap is for. req is the request that was sent; resp is nil if it got no response.
func (t *Tap) Offer(req *http.Request, resp *http.Response) {
	t.receives(resp)
	if t.asks != nil && resp != nil && resp.StatusCode != http.StatusOK {
		t.asks.Refuses(refusal(resp))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.seen, t.mu.silent = true, resp == nil
	if t.drop && t.asksFor(req) {
		t.mu.unacceptable = resp != nil && resp.StatusCode == http.StatusNotAcceptable
	}
	if t.mu.over || resp == nil || resp.StatusCode != http.StatusOK || resp.Body == nil || !t.asksFor(req) {
		return
	}
	encoding, why := encodingOf(req, resp)
	t.mu.drops = dropsManagedFields(req)
	switch {
	case why != "":
		t.mu.why = why
	case t.mu.watch != nil || t.mu.list != nil:
		t.mu.several = true
	case t.watches:
		t.mu.encoding, t.mu.watch = encoding, newWatchBody(resp.Body)
		resp.Body = t.mu.watch
	default:
		t.takeListLocked(encoding, req, resp)
	}
}

// receives makes the ledger record the progress of a list, whether client-go or this package
// decodes it.
func (t *Tap) receives(resp *http.Response) {
	if t.ledger == nil {
		return
	}
	if resp != nil && resp.Body != nil {
		resp.Body = t.ledger.Receives(resp.Body)
	} else {
		t.ledger.ReceivesNothing()
	}
}

// refusal returns what an answer other than 200 says. Of 429 and 5xx, client-go obeys Retry-After.
func refusal(resp *http.Response) tap.Refusal {
	now := time.Now()
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	obeyed := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
	if err != nil || seconds < 0 || !obeyed {
		seconds = 0
	}
	return tap.Refusal{At: now, Until: now.Add(time.Duration(seconds) * time.Second)}
}

func (t *Tap) takeListLocked(encoding Encoding, req *http.Request, resp *http.Response) {
	decoder := t.decoder(encoding, t.mu.drops)
	if decoder == nil {
		t.mu.why = noDecoder + " " + string(encoding)
		return
	}
	t.mu.encoding = encoding
	until := t.mu.sent.Add(longList)
	if _, timed := req.Context().Deadline(); timed {
		until = time.Time{}
	}
	t.mu.list = &listBody{reading: t.reading, over: t.isOver, real: resp.Body, coding: encoding, decoder: decoder, until: until}
	resp.Body = t.mu.list
	resp.ContentLength = -1 // unknown for the substitute
	if resp.Header.Get("Content-Length") != "" {
		resp.Header = resp.Header.Clone()
		resp.Header.Del("Content-Length")
	}
}

// asksFor reports whether the request is the one that the tap is for, rather than another one of
// the same call, or one whose options were changed.
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

// encodingOf returns the encoding of a body, or the reason why it cannot be decoded here. A Table has the
// content type of an object: only the request says that the client can convert it.
func encodingOf(req *http.Request, resp *http.Response) (e Encoding, why string) {
	if strings.Contains(accepted(req), "as=Table") {
		return "", contentType + " of a Table"
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" {
		return "", contentEncoding + " " + strconv.Quote(coding)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return "", badContentType
	case media == runtime.ContentTypeJSON:
		return JSON, ""
	case media == runtime.ContentTypeProtobuf:
		return Protobuf, ""
	default:
		return "", contentType + " " + strconv.Quote(media)
	}
}

// taken is the part of the state of a tap that matters after the call has returned.
type taken struct {
	seen     bool     // a transport has found the tap
	silent   bool     // the last request got no response
	several  bool     // more than one response could have been taken
	why      string   // the reason why the last response was not taken
	encoding Encoding // of the response that was taken
	drops    bool     // the client removes managed fields

	unacceptable bool // the server refuses a request that asks it to leave out managed fields

	watch *watchBody // of a watch that was taken
	list  *listBody  // of a list that was taken
}

// end marks the call as returned, and returns the state.
func (t *Tap) end() taken {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.over = true
	return t.mu.taken
}

// isOver reports whether the call has returned.
func (t *Tap) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.over
}

type contextKey struct{}

// into returns a context that carries t to the transport.
func into(ctx context.Context, t *Tap) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// From returns the tap in a context, or nil.
func From(ctx context.Context) *Tap {
	t, _ := ctx.Value(contextKey{}).(*Tap)
	return t
}

// Hidden returns the request without its tap, for the transports below. If there are several
// transports of package direct, the outermost one uses the tap.
func Hidden(req *http.Request) *http.Request {
	return req.WithContext(into(req.Context(), nil))
}
