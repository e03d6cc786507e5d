// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/transport"
)

// lie is what becomes of an event of a watch.
type lie int

const (
	truth  lie = iota
	lose       // it is not told
	alter      // its object is told with another value, under the same resourceVersion
	invent     // an object that there is not is told of as well, at the same resourceVersion
)

// lieEvery: of so many events one is lost, one is altered, and one is followed by one that is made
// up.
const lieEvery = 6

// liar is a transport below the client of one informer. While it lies, watches do not tell what the
// server sends; while it holds back, those that are open tell nothing. Lists are what they are.
type liar struct {
	report *report
	// asked counts the requests that may bring the informer another state: all lists and watches,
	// but for those of audits.
	asked atomic.Int64

	mu struct {
		sync.Mutex
		random *rand.Rand
		lies   bool
		held   chan struct{} // closed when it goes on; nil: nothing is held back
	}
}

func newLiar(random *rand.Rand, r *report) *liar {
	l := &liar{report: r}
	l.mu.random = random
	return l
}

// lie begins to lie, or ends that.
func (l *liar) lie(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lies = on
}

// hold holds back what comes from now on, of the watches that are open, until release is called.
func (l *liar) hold() (release func()) {
	held := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.held = held
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mu.held = nil
		close(held)
	}
}

// holding returns what is closed when the liar goes on, nil if it does not hold anything back.
func (l *liar) holding() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.held
}

// await waits while something is held back, unless the watch was opened meanwhile, during spared,
// and reports whether the body is still read.
func (l *liar) await(ctx context.Context, spared, closed <-chan struct{}) bool {
	held := l.holding()
	if held == nil || held == spared {
		return true
	}
	select {
	case <-held:
		return true
	case <-ctx.Done():
	case <-closed:
	}
	return false
}

// next draws what becomes of the next event.
func (l *liar) next() lie {
	l.mu.Lock()
	defer l.mu.Unlock()
	if drawn := lie(l.mu.random.IntN(lieEvery)); l.mu.lies && drawn <= invent {
		return drawn
	}
	return truth
}

// tell returns what is told in place of a frame, with what is around it. Whatever is replaced is as
// long as it was, so that no length on the way has to be.
func (l *liar) tell(media string, whole, frame []byte) []byte {
	event, of, err := follow.EventOf(media, frame)
	if err != nil || event == watch.Error || event == watch.Bookmark {
		return whole
	}
	told, what := retold(whole, event, of, l.next())
	if what != "" {
		l.report.count("lies: "+what, 1)
	}
	return told
}

// retold makes a lie of a frame, if it can, and says which.
func retold(whole []byte, event watch.EventType, of metav1.ObjectMeta, how lie) (told []byte, what string) {
	value := of.Labels[follow.ValueLabel]
	switch {
	case how == lose:
		return nil, "events lost"
	case how == truth || event == watch.Deleted || value == "":
		return whole, ""
	case how == alter:
		return bytes.ReplaceAll(whole, []byte(value), []byte(altered(value))), "objects altered"
	default:
		return append(bytes.Clone(whole), bytes.ReplaceAll(whole, []byte(of.Name), []byte(invented(of.Name)))...), "objects made up"
	}
}

// altered is another value of the same object. It differs in the last digit.
func altered(value string) string {
	last := len(value) - 1
	return value[:last] + string('0'+(value[last]-'0'+1)%10)
}

// invented is a name that no writer uses.
func invented(name string) string { return "x" + name[1:] }

// wrap puts the liar above a transport.
func (l *liar) wrap(next http.RoundTripper) http.RoundTripper { return lying{l, next} }

type lying struct {
	liar *liar
	next http.RoundTripper
}

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (l lying) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l lying) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if query.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchExact) && query.Get("continue") == "" {
		l.liar.asked.Add(1)
	}
	response, err := l.next.RoundTrip(r)
	if watches, _ := strconv.ParseBool(query.Get("watch")); err == nil && watches && response.StatusCode == http.StatusOK {
		response.Body = &hearsay{
			ReadCloser: response.Body, liar: l.liar, ctx: r.Context(), media: transport.MediaOf(response),
			spared: l.liar.holding(), closed: make(chan struct{}),
		}
	}
	return response, err
}

// hearsay is the body of a watch as it is told.
type hearsay struct {
	io.ReadCloser
	liar   *liar
	ctx    context.Context // of the request
	media  string
	spared <-chan struct{} // what the liar held back when the watch was opened
	closed chan struct{}
	close  sync.Once

	piece [4 << 10]byte
	part  []byte // of a frame
	out   []byte // what is to be told
	err   error  // behind that
}

var errClosed = errors.New("the body was closed")

func (h *hearsay) Read(into []byte) (int, error) {
	for len(h.out) == 0 && h.err == nil {
		n, err := h.ReadCloser.Read(h.piece[:])
		h.part, h.err = append(h.part, h.piece[:n]...), err
		h.retell()
	}
	if !h.liar.await(h.ctx, h.spared, h.closed) {
		return 0, errClosed
	}
	if len(h.out) == 0 {
		return 0, h.err
	}
	n := copy(into, h.out)
	h.out = h.out[n:]
	return n, nil
}

// retell moves whole frames to what is to be told, and at the end the rest.
func (h *hearsay) retell() {
	for {
		whole, frame := transport.Cut(h.media, h.part)
		if whole == 0 {
			break
		}
		h.out = append(h.out, h.liar.tell(h.media, h.part[:whole], frame)...)
		h.part = append(h.part[:0], h.part[whole:]...)
	}
	if h.err != nil {
		h.out, h.part = append(h.out, h.part...), nil
	}
}

// Close also ends what is held back.
func (h *hearsay) Close() error {
	h.close.Do(func() { close(h.closed) })
	return h.ReadCloser.Close()
}
