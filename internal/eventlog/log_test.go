// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package eventlog

import (
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/testkit/draw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader is a cursor with a reference implementation: the slice of unread entries.
type reader struct {
	cursor Cursor[int]
	unread []int
	peeked []int // the result of Peek, not yet skipped
	copied []int // a copy made at the time of the Peek
}

// cursors is a log, its readers, and the readers that have abandoned it and still use a slice.
type cursors struct {
	log           *Log[int]
	readers, left []*reader
	next          int
}

func (c *cursors) pick(t *draw.T) int {
	if len(c.readers) == 0 {
		t.Skip("no reader")
	}
	return draw.Int(t, 0, len(c.readers)-1)
}

func (c *cursors) drop(i int) { c.readers = append(c.readers[:i], c.readers[i+1:]...) }

func (c *cursors) append(t *draw.T) {
	entries := make([]int, draw.Int(t, 0, 3*SegmentSize))
	for i := range entries {
		c.next++
		entries[i] = c.next
	}
	c.log.Append(entries)
	for _, r := range c.readers {
		r.unread = append(r.unread, entries...)
	}
}

func (c *cursors) abandon(t *draw.T) {
	i := c.pick(t)
	r := c.readers[i]
	r.peeked = r.cursor.Peek()
	r.copied = append([]int(nil), r.peeked...)
	r.cursor.Abandon(c.log)
	c.drop(i)
	c.left = append(c.left, r)
}

func (c *cursors) read(t *draw.T) {
	r := c.readers[c.pick(t)]
	ahead := r.cursor.Peek()
	require.Equal(t, len(r.unread) == 0, len(ahead) == 0)
	require.LessOrEqual(t, len(ahead), SegmentSize)
	n := draw.Int(t, 0, len(ahead))
	require.Equal(t, append([]int{}, r.unread[:n]...), append([]int{}, ahead[:n]...))
	r.cursor.Skip(n)
	r.unread = r.unread[n:]
}

func (c *cursors) check(t *draw.T) {
	require.Equal(t, len(c.readers), c.log.Cursors())
	require.Equal(t, len(c.readers) > 0, c.log.tail != nil)
	for _, r := range c.left { // their segments are not reused
		require.Equal(t, r.copied, append([]int(nil), r.peeked...))
	}
}

func TestCursorsReadEverythingOnceInOrder(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		c := &cursors{log: &Log[int]{Spare: &sync.Pool{}}}
		t.Repeat(map[string]func(*draw.T){
			"append": c.append,
			"enter": func(*draw.T) {
				r := &reader{}
				r.cursor.Enter(c.log)
				c.readers = append(c.readers, r)
			},
			"leave": func(t *draw.T) {
				i := c.pick(t)
				c.readers[i].cursor.Leave(c.log)
				assert.False(t, c.readers[i].cursor.InLog())
				c.drop(i)
			},
			"abandon": c.abandon,
			"read":    c.read,
			"":        c.check,
		})
	})
}

// appendObject appends a pointer to a new object and returns a weak pointer to it.
func appendObject(log *Log[*[64]byte]) weak.Pointer[[64]byte] {
	object := new([64]byte)
	log.Append([]*[64]byte{object})
	return weak.Make(object)
}

func assertFreed(t *testing.T, objects ...weak.Pointer[[64]byte]) {
	t.Helper()
	runtime.GC()
	for i, object := range objects {
		assert.Nil(t, object.Value(), "object %d", i)
	}
}

func TestLogWithoutCursorsKeepsNothing(t *testing.T) {
	for name, spare := range map[string]*sync.Pool{"alone": nil, "pooled": {}} {
		t.Run(name, func(t *testing.T) {
			log := &Log[*[64]byte]{Spare: spare}
			unheard := appendObject(log)
			var c Cursor[*[64]byte]
			assert.Empty(t, c.Peek())
			assert.False(t, c.InLog())
			c.Enter(log)
			heard := appendObject(log)
			c.Skip(len(c.Peek()))
			c.Leave(log)
			assertFreed(t, unheard, heard)
			runtime.KeepAlive(log)
		})
	}
}

func TestAReaderKeepsOneSegmentBehind(t *testing.T) {
	log := &Log[*[64]byte]{}
	var slow, quick Cursor[*[64]byte]
	slow.Enter(log)
	quick.Enter(log)
	var objects []weak.Pointer[[64]byte]
	for range 4 * SegmentSize {
		objects = append(objects, appendObject(log))
	}
	for range 2 { // two segments and one entry
		slow.Skip(len(slow.Peek()))
	}
	held := slow.Peek()
	slow.Skip(1)
	for len(quick.Peek()) > 0 {
		quick.Skip(len(quick.Peek()))
	}
	assertFreed(t, objects[:2*SegmentSize]...)
	assert.NotNil(t, objects[2*SegmentSize+1].Value(), "still to be read")

	slow.Abandon(log)
	quick.Leave(log)
	assertFreed(t, objects[3*SegmentSize:]...)
	assert.NotNil(t, objects[2*SegmentSize].Value(), "the reader keeps one segment")
	runtime.KeepAlive(held)
	runtime.KeepAlive(log)
}

func TestReadersWhileTheWriterWrites(t *testing.T) {
	const entries, readers = 20_000, 4
	log := &Log[int]{Spare: &sync.Pool{}}
	var lock sync.Mutex // serializes the calls of one goroutine at a time
	var group sync.WaitGroup
	for range readers {
		var c Cursor[int]
		c.Enter(log)
		group.Go(func() {
			want := 0
			for want < entries {
				for _, got := range c.Peek() {
					if got != want {
						t.Errorf("got %d, want %d", got, want)
						return
					}
					want++
					c.Skip(1)
				}
				runtime.Gosched()
			}
			lock.Lock()
			defer lock.Unlock()
			c.Leave(log)
		})
	}
	for i := 0; i < entries; i += 7 {
		batch := make([]int, 0, 7)
		for j := i; j < min(i+7, entries); j++ {
			batch = append(batch, j)
		}
		lock.Lock()
		log.Append(batch)
		lock.Unlock()
	}
	group.Wait()
	assert.Zero(t, log.Cursors())
}

// TestSegmentsAreUsedAgain checks that a segment is reused when the last cursor has left it.
func TestSegmentsAreUsedAgain(t *testing.T) {
	log := &Log[int]{Spare: &sync.Pool{}}
	var slow, quick Cursor[int]
	slow.Enter(log)
	quick.Enter(log)
	batch := make([]int, SegmentSize)
	perSegment := testing.AllocsPerRun(100, func() {
		log.Append(batch)
		for _, c := range []*Cursor[int]{&quick, &slow} {
			for len(c.Peek()) > 0 {
				c.Skip(1)
			}
		}
	})
	assert.Less(t, perSegment, 2.0, "a segment is two allocations; the race detector has a pool drop some of its contents")
	slow.Leave(log)
	quick.Leave(log)
	assert.Nil(t, log.tail)
}
