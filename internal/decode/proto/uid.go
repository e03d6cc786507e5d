// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/scan"

// Field numbers of all objects of Kubernetes.
const (
	objectMetadata = 1
	metadataUID    = 5
)

// UID returns the UID in the metadata of an object as a subslice of object. It returns nil if there
// is no UID, or if the metadata is not the first field, where servers write it.
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
