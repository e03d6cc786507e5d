// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/kinformer/cache/internal/decode/scan"

// UID returns the UID in the metadata of an object as a subslice of object. It reads the object
// only up to the UID. It returns nil if there is no UID or if the UID contains escapes or
// characters beyond ASCII.
func UID(object []byte) []byte { return metadata(object, "uid") }

// Namespace is UID for the namespace.
func Namespace(object []byte) []byte { return metadata(object, "namespace") }

func metadata(object []byte, name string) []byte {
	var d scan.Scanner
	d.Begin(object)
	if !enter(&d, "metadata") || !enter(&d, name) || !d.Is('"') {
		return nil
	}
	begin, end := d.Pos+1, scan.TextEnd(object, d.Pos+1)
	if end >= len(object) || scan.PlainUntil(object, begin) != end {
		return nil
	}
	return object[begin:end:end]
}

// enter moves d into an object, to the value of the member with the given name. It reports whether
// the member exists.
func enter(d *scan.Scanner, name string) bool {
	if !d.Open('{', "not an object") || d.Peek() == '}' {
		return false
	}
	for {
		key, ok := d.Key()
		switch {
		case !ok:
			return false
		case string(key) == name:
			return true
		case !d.Skip():
			return false
		}
		if another, _ := d.More('}'); !another {
			return false
		}
	}
}
