// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package json reads JSON into Go values, by a plan that is made of their types.
package json

import (
	"sync"

	"github.com/kinformer/cache/internal/decode/document"
	"github.com/kinformer/cache/internal/decode/share"
)

// reader reads one document.
type reader struct {
	document.Reader
	texts []string // stack of lists that are being read
	pairs []pair   // stack of maps of texts that are being read
}

// pair is a member of a map that is being read.
type pair struct{ key, text string }

var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(data []byte, o share.Options) *reader {
	d := readers.Get().(*reader)
	d.Begin(data, o)
	return d
}

// release ends the reading of a document, whose error it returns if it was not read to the end.
func (d *reader) release(read bool) error {
	d.texts, d.pairs = document.Emptied(d.texts), document.Emptied(d.pairs)
	defer readers.Put(d)
	return d.Finish(read)
}
