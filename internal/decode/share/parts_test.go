// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/decode/mem"
)

// ask looks up a part, adds it like a decoder if it was missed before, and returns the value found.
func (t *Parts) ask(of int, raw string) any {
	emptied := t.emptied.Load()
	hash, known := t.find(sites[of], []byte(raw))
	if known != nil {
		return known.value.boxed
	}
	if t.again(hash) {
		t.add(Part{of: sites[of], hash: hash, raw: []byte(raw), value: Value{boxed: fmt.Sprint(of, raw)}, bytes: int64(4 * len(raw))}, emptied)
	}
	return nil
}

// TestPartsKeepTheirBytes checks that the table copies the bytes of a part.
func TestPartsKeepTheirBytes(t *testing.T) {
	table, raw := NewParts(0), []byte("as it was in the frame")
	hash, _ := table.find(sites[1], raw)
	table.add(Part{of: sites[1], hash: hash, raw: raw}, 0)
	copy(raw, "another")
	_, known := table.find(sites[1], []byte("as it was in the frame"))
	assert.NotNil(t, known)
	_, known = table.find(sites[1], raw)
	assert.Nil(t, known)
}

// TestPartsForget checks that entries no longer in use make room for entries in use.
func TestPartsForget(t *testing.T) {
	const many = 5_000
	table := NewParts(1 << 20)
	for round := range 20 {
		hits := 0
		for i := range 4 * many {
			if table.ask(1, fmt.Sprintf("of round %04d, part %06d", round, i%many/10)) != nil {
				hits++
			}
		}
		assert.Greater(t, hits, 3*many, "round %d", round)
		for i := range 2 * many {
			table.ask(1, fmt.Sprintf("asked for twice in round %04d: %06d", round, i/2))
		}
		require.NoError(t, table.Check())
	}
}

// TestSharingIdles checks that few objects look up parts where objects have nothing in common, and
// that all do again soon after that changes.
func TestSharingIdles(t *testing.T) {
	s := NewSharing(NewParts(0))
	looked := func(objects, found int) (n int) {
		for range objects {
			if s.parts(false) != nil {
				n++
				s.note(found, 1000)
			}
		}
		return n
	}
	assert.Equal(t, 1000, looked(1000, 0))
	looked(100, 0)
	assert.InDelta(t, 1600/probes, looked(1600, 0), 2)
	looked(3*probes*hitWindow/1000, 500)
	assert.Equal(t, 1000, looked(1000, 500))
	assert.Equal(t, 5000, looked(5000, 130), "an eighth is enough")
	looked(5000, 120)
	assert.Less(t, looked(1600, 120), 200)
	assert.Nil(t, (*Sharing)(nil).parts(false))
}

// TestReadDecoded checks that the estimate is in proportion to the bytes counted.
func TestReadDecoded(t *testing.T) {
	r := new(Read)
	assert.Equal(t, 1000, r.Decoded(1000), "nothing counted yet")
	r.add(1000, 100)
	r.add(2000, 500)
	assert.Equal(t, 200, r.Decoded(1000))
	assert.Zero(t, r.Decoded(0))
	assert.Equal(t, 1000, (*Read)(nil).Decoded(1000))
}

// TestCheckedNamesWhatDiffers checks that the place of a part, for which the document is read from its beginning, is not
// sought unless the part was modified.
func TestCheckedNamesWhatDiffers(t *testing.T) {
	s, site, sharing := new(Session), &Site{Type: reflect.TypeFor[any]()}, NewSharing(NewParts(1<<20))
	var written []string
	sharing.report = func(w *Written) {
		if w != nil {
			written = append(written, w.In)
		}
	}
	s.Enter(Options{Share: sharing}, 1000)
	v := any([]any{"a"})
	for range 2 {
		if _, x := s.Find(site, []byte("raw")); s.Enters(x) {
			s.Add(x, ValueOf(v), 0)
		}
	}
	known, _ := s.Find(site, []byte("raw"))
	require.NotNil(t, known)
	sought := 0
	checked := func() *Part {
		return s.Checked(known, func() string { sought++; return "a.b" }, func(_ []byte, p mem.Place) bool { mem.Set(p, any([]any{"a"})); return true })
	}
	assert.Same(t, known, checked())
	assert.Zero(t, sought)
	v.([]any)[0] = "written"
	assert.Equal(t, []any{"a"}, checked().Any())
	assert.Equal(t, []string{"a.b"}, written)
	assert.Equal(t, 1, sought)
}

// TestWidensBesideUsers checks that goroutines find the right parts while the table grows, and that
// each part is in the table once. A part discarded because another goroutine held the lock enters
// when it is next looked up.
func TestWidensBesideUsers(t *testing.T) {
	const parts = 6000 // 4,778 to 4,936 of them have a slot of their own in the end
	for range 5 {
		table := NewParts(256 << 10)
		askForAll := func() {
			for i := range 3 * parts {
				raw := fmt.Sprintf("%016x", i/3)
				if got := table.ask(1, raw); got != nil && got != fmt.Sprint(1, raw) {
					panic("another part than was asked for")
				}
			}
		}
		var users sync.WaitGroup
		for range 4 {
			users.Go(askForAll)
		}
		for limit := int64(512 << 10); limit <= 8<<20; limit *= 2 {
			table.SetLimit(limit)
			runtime.Gosched()
		}
		users.Wait()
		entries, err := table.recount(0)
		require.NoError(t, err)
		assert.NotEmpty(t, entries)
		askForAll()
		entries, err = table.recount(0)
		require.NoError(t, err)
		assert.Greater(t, len(entries), parts/2)
	}
}

// TestPartSizeIncludesNestedParts checks that the size of a part includes nested parts, which it keeps
// alive after they are evicted.
func TestPartSizeIncludesNestedParts(t *testing.T) {
	inner := make([]any, 100)
	for i := range inner {
		inner[i] = map[string]any{}
	}
	s, site := new(Session), &Site{Type: reflect.TypeFor[any]()}
	s.Enter(Options{Share: NewSharing(NewParts(1 << 20))}, 1000)
	for _, v := range []any{inner, map[string]any{"some": inner}} {
		raw := fmt.Appendf(nil, "the bytes of a %T", v)
		for range 2 {
			if _, x := s.Find(site, raw); s.Enters(x) {
				s.Add(x, ValueOf(v), 0)
			}
		}
		known, _ := s.Find(site, raw)
		require.NotNil(t, known)
		assert.Greater(t, known.bytes, int64(100*(48+16)), "%s", raw)
	}
}
