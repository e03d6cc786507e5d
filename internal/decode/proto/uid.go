// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/scan"

// Numbers of fields that all objects of Kubernetes have.
const (
	objectMetadata = 1
	metadataUID    = 5
)

// UID returns the UID in the metadata of an object, as a part of the data. It is nil if there is none,
// or it is not where servers write it: in the first field.
func UID(object []byte) []byte {
	var d scan.Scanner
	d.Begin(object)
	metadata, ok := d.Expect(objectMetadata, len(object))
	if !ok {
		return nil
	}
	end := d.Pos
	for d.Pos -= len(metadata); d.Pos < end; {
		tag, ok := d.Tag(end)
		switch {
		case !ok || tag>>3 > metadataUID:
			return nil
		case tag == metadataUID<<3|scan.WireBytes:
			uid, _ := d.Chunk(end)
			return uid
		case !d.Pass(tag&7, end):
			return nil
		}
	}
	return nil
}
