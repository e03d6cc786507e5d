// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"
)

const (
	// PlainNames are the characters of names that need no escapes, and are no data.
	PlainNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./$"
	// manyNames are told of those that lead to a place: further in they may be data.
	manyNames = 2
)

// Names returns the names that lead to the end of data, the begin of an object: the first of them,
// as far as they are plain.
func Names(data []byte) string {
	var names [manyNames + 1]string
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := min(TextEnd(data, i+1), len(data))
			if 0 < depth && depth <= manyNames && isName(data[min(end+1, len(data)):]) {
				names[depth] = string(data[i+1 : end])
			}
			i = end
		case '{', '[':
			if depth++; depth <= manyNames {
				names[depth] = ""
			}
		case '}', ']':
			depth--
		}
	}
	return plainPath(names[1 : 1+min(max(depth, 0), manyNames)])
}

// isName reports whether the text is a name that comes before rest.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func plainPath(names []string) string {
	for i, name := range names {
		if name == "" || strings.Trim(name, PlainNames) != "" {
			return strings.Join(names[:i], ".")
		}
	}
	return strings.Join(names, ".")
}
