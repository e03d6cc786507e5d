// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proto reads protobuf into Go values, by a plan that is made of the tags of their types.
package proto

import (
	"sync"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// reader reads one message and all that is in it.
type reader struct {
	scan.Scanner
	share.Session
	reached   int      // the depth to which the messages of a part go
	rowMemory []uint64 // of an updater
}

var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(data []byte, o share.Options) *reader {
	d := readers.Get().(*reader)
	d.Scanner.Begin(data)
	d.Session.Enter(o, len(data))
	return d
}

// release ends the reading of a message, whose error it returns if it was not read to the end.
func (d *reader) release(read bool) error {
	d.Session.Leave(d.Pos)
	defer readers.Put(d)
	return d.Scanner.Finish(read)
}

// wireNode reads fields of one type.
type wireNode interface {
	// wire reads a field, whose tag was read, into p, which is zero; and those of the same tag that
	// follow it if they are elements of one list or map. They end before end.
	wire(d *reader, p mem.Place, end int) bool
}

// messageNode reads messages of one type.
type messageNode interface {
	// message reads what lies before end into p, which is zero.
	message(d *reader, p mem.Place, end int) bool
}
