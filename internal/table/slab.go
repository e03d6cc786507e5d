// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "sync/atomic"

const (
	// slabLen is the number of records in a chunk: see slabBits.
	slabLen  = 1 << slabBits
	slabMask = slabLen - 1

	// maxIDs is the number of ids.
	maxIDs = 1<<32 - 1
)

type slabChunk [slabLen]record

// slab holds one record for each id, in chunks that never move. It has one writer; readers may
// access any id that they got from the writer.
type slab struct {
	spine atomic.Pointer[[]*slabChunk]
	// next is the lowest id never used, free the ids that were returned. Writer only.
	next uint32
	free []uint32
}

// chunks returns the current chunks.
func (s *slab) chunks() []*slabChunk {
	if p := s.spine.Load(); p != nil {
		return *p
	}
	return nil
}

// at returns the record of an id that was taken.
func (s *slab) at(id uint32) *record {
	return &(*s.spine.Load())[id>>slabBits][id&slabMask]
}

// take returns a free id, preferably the one that was returned last. Its record is as the writer
// left it.
func (s *slab) take() uint32 {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		return id
	}
	id := s.next
	if id >= maxIDs {
		panic("table: more than 2^32-1 objects")
	}
	s.next++
	s.cover(id)
	return id
}

// give returns an id to the slab.
func (s *slab) give(id uint32) { s.free = append(s.free, id) }

// cover ensures that id has a record.
func (s *slab) cover(id uint32) {
	if int(id>>slabBits) >= len(s.chunks()) {
		s.extend(id)
	}
}

func (s *slab) extend(id uint32) {
	spine := s.chunks()
	for int(id>>slabBits) >= len(spine) {
		spine = append(spine, new(slabChunk))
	}
	s.spine.Store(&spine)
}

// reserve makes room for n ids in an empty slab, in one block of memory.
func (s *slab) reserve(n int) {
	spine := make([]*slabChunk, (n+slabMask)>>slabBits)
	block := make([]record, len(spine)<<slabBits)
	for i := range spine {
		spine[i] = (*slabChunk)(block[i<<slabBits:])
	}
	s.spine.Store(&spine)
}

// inUse returns the number of ids in use.
func (s *slab) inUse() int { return int(s.next) - len(s.free) }
