// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/scan"

// Field numbers of all objects of Kubernetes.
const (
	objectMetadata    = 1
	metadataNamespace = 3
	metadataUID       = 5
)

// UID returns the UID in the metadata of an object as a subslice of object. It returns nil if there
// is no UID, or if the metadata is not the first field, where servers write it.
func UID(object []byte) []byte { return metadata(object, metadataUID) }

// Namespace is UID for the namespace.
func Namespace(object []byte) []byte { return metadata(object, metadataNamespace) }

func metadata(object []byte, field uint64) []byte {
	var d scan.Scanner
	d.Begin(object)
	all, ok := d.Expect(objectMetadata, len(object))
	if !ok {
		return nil
	}
	end := d.Pos
	for d.Pos -= len(all); d.Pos < end; {
		tag, ok := d.Tag(end)
		switch {
		case !ok || tag>>3 > field:
			return nil
		case tag == field<<3|scan.WireBytes:
			text, _ := d.Chunk(end)
			return text
		case !d.Pass(tag&7, end):
			return nil
		}
	}
	return nil
}
