// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap"
)

// listBody is the body of a list that client-go reads instead of the real one: the same list
// without the items that this package decodes. The first Read does all of the work, so that the
// caller sees errors of the real body where it expects them.
//
//	real body ──▶ bodyReader ──▶ items ──▶ Page
//	                              ├─ first, last and sampled items ─▶┐
//	                              └─ the rest of the list ──────────▶ substitute ──▶ client-go
type listBody struct {
	reading
	over    func() bool // reports whether the call of the list has returned
	real    io.ReadCloser
	coding  Encoding
	decoder *decoder
	until   time.Time // when the bound of bytes that wait to be decoded ends

	// Used by the reading goroutine only, until phase is read.
	substitute io.Reader // real if the body was not taken
	items      []runtime.Object
	passed     []int // the indexes of items that client-go also decodes
	reused     int   // the number of other items that are former objects
	gaveUp     []error
	why        string              // the reason why the list could not be split
	none       *decode.NoListError // set if the body is no list
	bad        *badItemError       // the first item that cannot be decoded and may not be skipped; nil: none
	skipped    int                 // the number of items that cannot be decoded
	about      decode.About        // the list
	done       bool                // the substitute is complete
	bytes      int64               // of the real body

	mu struct {
		sync.Mutex
		from   bodyReader
		closed bool
		phase  listPhase
	}
}

// reading is the configuration of the reading of a list.
type reading struct {
	ahead   int64           // bytes that may wait to be decoded; -1: none
	samples func() bool     // reports whether both decode an item
	checks  func() bool     // reports whether shared parts are checked
	onItem  func(bytes int) // called for each item
	trust   *trust          // decides about items that cannot be decoded
}

// listPhase is the progress of the reading of a list.
type listPhase uint8

const (
	unread   listPhase = iota // not read yet, or read by client-go after the call returned
	decoding                  // the items are being decoded
	read                      // the substitute, or an error, can be read
)

// phase returns the phase of the list, or unread if b is nil.
func (b *listBody) phase() listPhase {
	if b == nil {
		return unread
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.phase
}

func (b *listBody) enter(p listPhase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.phase = p
}

// Read returns the bytes of the substitute, or the error of the real body.
func (b *listBody) Read(p []byte) (int, error) {
	if b.substitute == nil {
		b.fill()
	}
	return b.substitute.Read(p)
}

// Close closes the real body. It keeps the decoded items.
func (b *listBody) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	if b.mu.from != nil {
		b.mu.from.close()
	}
	b.mu.Unlock()
	return b.real.Close()
}

// fill decodes the list and makes the substitute.
func (b *listBody) fill() {
	from := b.begin()
	if from == nil {
		b.substitute = b.real
		return
	}
	defer b.enter(read)
	defer from.close()
	list := b.decoder.list(from, b.checks())
	wires, err := b.readItems(list)
	b.about = list.About()
	switch failed := from.failed(); {
	case failed == nil && errors.As(err, &b.none):
		b.substitute = failing{b.none}
	case err == nil:
		b.substitute, b.done, b.bytes = bytes.NewReader(list.With(wires)), true, from.read()
	case failed != nil:
		b.substitute = failing{failed}
	case errors.Is(err, errClosed):
		b.substitute = failing{err}
	default:
		err = fmt.Errorf("the list cannot be taken apart: %w", err)
		b.why, b.substitute = err.Error(), failing{err}
	}
}

// begin begins to read. It returns nil if the call of the list has returned.
func (b *listBody) begin() bodyReader {
	if b.over() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.phase = decoding
	if b.ahead < 0 {
		b.mu.from = &asItComes{body: b.real}
	} else {
		b.mu.from = readAhead(b.real, b.ahead, time.Until(b.until))
	}
	if b.mu.closed {
		b.mu.from.close()
	}
	return b.mu.from
}

// bodyReader reads the body of a list. Its methods are for one goroutine, except close.
type bodyReader interface {
	io.Reader
	failed() error // the error of Read other than io.EOF
	read() int64   // the number of bytes read
	close()        // stops reading ahead; it does not wait
}

// asItComes reads a body on demand, without a buffer, for decoders that are faster than the
// network.
type asItComes struct {
	body io.Reader
	n    int64
	err  error
}

func (c *asItComes) Read(p []byte) (n int, err error) {
	n, err = c.body.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

func (c *asItComes) failed() error {
	if errors.Is(c.err, io.EOF) {
		return nil
	}
	return c.err
}

func (c *asItComes) read() int64 { return c.n }

// close does nothing: listBody.Close closes the body.
func (c *asItComes) close() {}

// readItems reads all items, and returns the bytes of those that client-go also decodes. The first
// and the last item are always among them: lists are sorted, so these two differ most.
func (b *listBody) readItems(list *listReader) (wires [][]byte, err error) {
	var last Item // the last item, unless client-go decodes it
	for {
		item, err := list.next()
		if errors.Is(err, io.EOF) {
			return b.passLast(wires, list, last), nil
		}
		if err != nil {
			return nil, err
		}
		b.onItem(list.decoder.decoded(item.Wire))
		if b.samples() || len(b.passed) == 0 || item.Object == nil {
			wires, last = b.pass(wires, list, item), Item{}
			continue
		}
		if item.Reused {
			b.reused++
		}
		b.items = append(b.items, item.Object)
		item.Wire = append(last.Wire[:0], item.Wire...)
		last = item
	}
}

// pass adds an item that client-go also decodes. An item that client-go cannot decode is skipped, or named if
// client-go then refuses the list: it may have another decoder. If that is because of fields that are not kept, it is
// not passed.
func (b *listBody) pass(wires [][]byte, list *listReader, item Item) [][]byte {
	if item.Object == nil || b.trust.options.SkipUndecodable || b.trust.options.kept != nil {
		bad := undecodable(b.trust.example, item.Wire, b.coding)
		switch {
		case bad == nil:
		case item.Object != nil && b.trust.options.kept != nil:
			b.items = append(b.items, list.again(item))
			return wires
		case b.trust.maySkip(bad):
			b.items = append(b.items, bad)
			b.skipped++
			return wires
		case b.bad == nil:
			b.bad = &badItemError{len(b.items), bad}
		}
	}
	b.passed = append(b.passed, len(b.items))
	b.gaveUp = append(b.gaveUp, item.Why)
	b.items = append(b.items, list.again(item))
	return append(wires, bytes.Clone(item.Wire))
}

// passLast passes the last item to client-go. If last is zero, it has been passed already.
func (b *listBody) passLast(wires [][]byte, list *listReader, last Item) [][]byte {
	if last.Object == nil {
		return wires
	}
	if last.Reused {
		b.reused--
	}
	b.items = b.items[:len(b.items)-1]
	return b.pass(wires, list, last)
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// isUntouched reports whether the client returned a new, empty list although it was passed items, or a
// version. client-go does so if the list is of another kind.
func (b *listBody) isUntouched(list runtime.Object) bool {
	accessor, err := meta.ListAccessor(list)
	return err == nil && (len(b.passed) > 0 || b.about.Version != "") && meta.LenList(list) == 0 && accessor.GetResourceVersion() == ""
}

// page completes the decoded items with those that the client made. If the list is not as expected,
// why is the reason. differs means that an object differs from the one decoded here, because of a
// fault of the decoder or because a caller modified it.
func (b *listBody) page(list runtime.Object, t *trust) (p *tap.Page, why string, differs bool) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Sprintf("the client returned a %T", list), false
	}
	var theirs []runtime.Object
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		t.options.kept.Prune(item)
		theirs = append(theirs, item)
		return nil
	})
	if err != nil || len(theirs) != len(b.passed) {
		return nil, fmt.Sprintf("the list was changed: %d items instead of %d", len(theirs), len(b.passed)), false
	}
	for i, place := range b.passed {
		if b.items[place] == nil {
			b.items[place] = theirs[i]
		}
		if where := t.difference(b.items[place], theirs[i]); where != "" {
			return nil, "an item of the list, " + where, true
		}
		if reflect.TypeOf(theirs[i]) != t.example {
			return nil, fmt.Sprintf("an item of the list is a %T", theirs[i]), false
		}
	}
	return &tap.Page{ListInterface: accessor, List: list, Items: b.items, Kind: b.about.Kind}, "", false
}
