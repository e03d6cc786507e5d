// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package json decodes JSON into Go values, by a plan built from their types.
package json

import (
	"sync"

	"github.com/kinformer/cache/internal/decode/document"
	"github.com/kinformer/cache/internal/decode/share"
)

// decoder decodes one document. It adds stacks of typed values to those of document.Decoder.
type decoder struct {
	document.Decoder
	texts []string // elements of the open lists of strings
	pairs []pair   // members of the open maps of strings
}

// pair is a member of an open map.
type pair struct{ key, text string }

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(data []byte, o share.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.Begin(data, o)
	return d
}

// release ends the document and returns d to the pool. It returns an error if read is false.
func (d *decoder) release(read bool) error {
	d.texts, d.pairs = document.Emptied(d.texts), document.Emptied(d.pairs)
	defer decoders.Put(d)
	return d.Finish(read)
}
