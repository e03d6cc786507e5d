// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "sync/atomic"

const (
	// slabLen elements a chunk: see slabBits.
	slabLen  = 1 << slabBits
	slabMask = slabLen - 1

	// maxID keeps id + 1 below the marks in ref.
	maxID = 0xFFFFFFFD
)

type slabChunk[E any] [slabLen]E

// slab holds one element for each id, in chunks that never move. One writer;
// readers may look at any id that they got from the writer.
type slab[E any] struct {
	spine atomic.Pointer[[]*slabChunk[E]]
	// next is the lowest id never given out, free the ones that came back. Both
	// are the writer's.
	next uint32
	free []uint32
}

// chunks returns the chunks as they are now.
func (s *slab[E]) chunks() []*slabChunk[E] {
	if p := s.spine.Load(); p != nil {
		return *p
	}
	return nil
}

// at returns the element of an id that was given out.
func (s *slab[E]) at(id uint32) *E {
	return &(*s.spine.Load())[id>>slabBits][id&slabMask]
}

// take gives out an id, the last one that came back first. Its element is
// whatever the writer left there.
func (s *slab[E]) take() uint32 {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		return id
	}
	id := s.next
	if id >= maxID {
		panic("table: more than 2^32-3 objects")
	}
	s.next++
	s.cover(id)
	return id
}

// give takes an id back.
func (s *slab[E]) give(id uint32) { s.free = append(s.free, id) }

// cover makes sure that id has an element.
func (s *slab[E]) cover(id uint32) {
	if int(id>>slabBits) >= len(s.chunks()) {
		s.extend(id)
	}
}

func (s *slab[E]) extend(id uint32) {
	spine := s.chunks()
	for int(id>>slabBits) >= len(spine) {
		spine = append(spine, new(slabChunk[E]))
	}
	s.spine.Store(&spine)
}

// reserve makes room for n ids in an empty slab, in one block of memory.
func (s *slab[E]) reserve(n int) {
	spine := make([]*slabChunk[E], (n+slabMask)>>slabBits)
	block := make([]E, len(spine)<<slabBits)
	for i := range spine {
		spine[i] = (*slabChunk[E])(block[i<<slabBits:])
	}
	s.spine.Store(&spine)
}

// held is the number of ids given out and not back.
func (s *slab[E]) held() int { return int(s.next) - len(s.free) }
