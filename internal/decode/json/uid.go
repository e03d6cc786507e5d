// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/kinformer/cache/internal/decode/scan"

// UID returns the UID in the metadata of an object, as a part of the data, of which it checks and reads
// no more than comes before it. It is nil if there is none, or if it is not plain.
func UID(object []byte) []byte {
	var d scan.Scanner
	d.Begin(object)
	if !enter(&d, "metadata") || !enter(&d, "uid") || !d.Is('"') {
		return nil
	}
	begin, end := d.Pos+1, scan.TextEnd(object, d.Pos+1)
	if end >= len(object) || scan.PlainUntil(object, begin) != end {
		return nil
	}
	return object[begin:end:end]
}

// enter goes into an object, and to the value of its member of that name.
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
