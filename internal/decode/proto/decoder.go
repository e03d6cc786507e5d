// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proto decodes protobuf into Go values, by a plan built from the struct tags of their
// types.
package proto

import (
	"sync"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// decoder decodes one message and all messages in it.
type decoder struct {
	scan.Scanner
	share.Session
	reached    int      // the greatest depth in the current part
	wordBuffer []uint64 // scratch memory of an updater
	kept       []byte   // a stack of what project returns
}

// mostKept is the largest capacity, in bytes, that a decoder reuses.
const mostKept = 64 << 10

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(data []byte, o share.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.Scanner.Begin(data)
	d.Session.Enter(o, len(data))
	return d
}

// release ends the message and returns d to the pool. It returns an error if read is false.
func (d *decoder) release(read bool) error {
	d.Session.Leave(d.Pos)
	if d.kept = d.kept[:0]; cap(d.kept) > mostKept {
		d.kept = nil
	}
	defer decoders.Put(d)
	return d.Scanner.Finish(read)
}

// wireNode decodes fields of one type.
type wireNode interface {
	// wire decodes a field into p, which is zero. The tag of the field has been read. A list or map
	// takes all consecutive fields of the same tag, which end before end.
	wire(d *decoder, p mem.Place, end int) bool
}

// messageNode decodes messages of one type.
type messageNode interface {
	// message decodes the message that ends at end into p, which is zero.
	message(d *decoder, p mem.Place, end int) bool
}
