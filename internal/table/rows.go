// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

var (
	refNone = ref{}
	refMany = ref{post: new(posting)}
)

// newRows returns rows for about n records.
func newRows(width, n int) *rows {
	s := &rows{width: width, chunks: make([][]ref, (n+slabMask)>>slabBits)}
	block := make([]ref, len(s.chunks)*width<<slabBits)
	for i := range s.chunks {
		s.chunks[i] = block[:width<<slabBits]
		block = block[width<<slabBits:]
	}
	return s
}

// row returns the places of a record, one for each index.
func (s *rows) row(id uint32) []ref {
	for int(id>>slabBits) >= len(s.chunks) {
		s.chunks = append(s.chunks, make([]ref, s.width<<slabBits))
	}
	at := int(id&slabMask) * s.width
	return s.chunks[id>>slabBits][at : at+s.width]
}

// widened returns a copy with room for more indexes.
func (s *rows) widened(more int) *rows {
	wide := newRows(s.width+more, len(s.chunks)<<slabBits)
	for i, chunk := range s.chunks {
		for id := range slabLen {
			copy(wide.chunks[i][id*wide.width:], chunk[id*s.width:(id+1)*s.width])
		}
	}
	return wide
}
