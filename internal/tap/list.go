// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listBody is the body of a list that client-go reads instead of the real one: the same, without
// the items that we decode. The first Read does the work, so that errors of the real body surface
// where they always do.
type listBody struct {
	reading
	over    func() bool // reports whether the call that the list is for has returned
	real    io.ReadCloser
	decoder sure
	until   time.Time // what may wait to be decoded is limited

	// The goroutine that reads has these, until phase says read.
	substitute io.Reader // real if nothing was taken
	items      []runtime.Object
	passed     []int // places of the items that client-go gets
	reused     int   // items that are known, besides these
	gaveUp     []error
	why        string // the list could not be taken apart
	done       bool   // the substitute is complete
	bytes      int64  // of the real body

	mu struct {
		sync.Mutex
		from   bodyReader
		closed bool
		phase  listPhase
	}
}

// reading is how a list is read.
type reading struct {
	ahead   int64           // bytes that may wait to be decoded; -1: none
	samples func() bool     // reports whether an item goes both ways
	checks  func() bool     // reports whether parts that objects share are checked
	came    func(bytes int) // is told of each item
}

// listPhase is how far the reading of a list is.
type listPhase uint8

const (
	unread   listPhase = iota // or read by client-go, because it was too late for us
	decoding                  // the items are being decoded
	read                      // the substitute is there, or an error in its place
)

// phase returns unread for no list.
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

// Read returns the substitute, or the error of the real body.
func (b *listBody) Read(p []byte) (int, error) {
	if b.substitute == nil {
		b.fill()
	}
	return b.substitute.Read(p)
}

// Close closes the real body. What was decoded stays.
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
	switch failed := from.failed(); {
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

// begin begins to read, if the call that the list is for still runs.
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

// bodyReader is how the body of a list is read. Its methods are for one goroutine, but for close.
type bodyReader interface {
	io.Reader
	failed() error // that Read has returned, if that is not io.EOF
	read() int64   // how many bytes were read
	close()        // no more is read, soon
}

// asItComes reads a body on demand, without a buffer, for decoders that keep up with the network.
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

// close has nothing to do: the body that is read is closed.
func (c *asItComes) close() {}

// readItems reads all items, and returns the bytes of those that client-go gets: always the first
// and the last one. Lists are sorted, so these two differ most.
func (b *listBody) readItems(list sureList) (wires [][]byte, err error) {
	var last Item // if client-go does not get it
	for {
		item, err := list.Next()
		if errors.Is(err, io.EOF) {
			return b.passLast(wires, list, last), nil
		}
		if err != nil {
			return nil, err
		}
		b.came(len(item.Wire))
		if b.samples() || len(b.items) == 0 || item.Object == nil {
			wires, last = b.pass(wires, list, item), Item{}
			continue
		}
		if item.Known {
			b.reused++
		}
		b.items = append(b.items, item.Object)
		item.Wire = append(last.Wire[:0], item.Wire...)
		last = item
	}
}

// pass adds an item that client-go gets as well.
func (b *listBody) pass(wires [][]byte, list sureList, item Item) [][]byte {
	b.passed = append(b.passed, len(b.items))
	b.gaveUp = append(b.gaveUp, item.Why)
	b.items = append(b.items, list.again(item))
	return append(wires, bytes.Clone(item.Wire))
}

// passLast has client-go get the last item, too, which is none if it does already.
func (b *listBody) passLast(wires [][]byte, list sureList, last Item) [][]byte {
	if last.Object == nil {
		return wires
	}
	if last.Known {
		b.reused--
	}
	b.items = b.items[:len(b.items)-1]
	return b.pass(wires, list, last)
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Page is a list whose items were decoded directly. As an object it is the list that the client has
// returned, which has few of the items, or none.
type Page struct {
	metav1.ListInterface // of the list
	List                 runtime.Object
	Items                []runtime.Object
}

// isUntouched reports whether the client has returned an empty list as it has made it, in spite of
// items: as client-go's does when it gets a list of another kind.
func (b *listBody) isUntouched(list runtime.Object) bool {
	accessor, err := meta.ListAccessor(list)
	return err == nil && len(b.passed) > 0 && meta.LenList(list) == 0 && accessor.GetResourceVersion() == ""
}

// page completes what was decoded by what the client has made of the substitute. It returns why
// that is not as it should be; then differs, if an object is not what we have made of it, be it by
// a fault of our decoder or because somebody has changed it.
func (b *listBody) page(list runtime.Object, t *trust) (p *Page, why string, differs bool) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Sprintf("the client returned a %T", list), false
	}
	var theirs []runtime.Object
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
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
	return &Page{ListInterface: accessor, List: list, Items: b.items}, "", false
}

// GetObjectKind returns that of the list.
func (p *Page) GetObjectKind() schema.ObjectKind { return p.List.GetObjectKind() }

// DeepCopyObject returns a copy. Nobody needs it.
func (p *Page) DeepCopyObject() runtime.Object {
	list := p.List.DeepCopyObject()
	accessor, _ := meta.ListAccessor(list)
	items := make([]runtime.Object, len(p.Items))
	for i, item := range p.Items {
		items[i] = item.DeepCopyObject()
	}
	return &Page{ListInterface: accessor, List: list, Items: items}
}
