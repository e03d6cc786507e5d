// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"
)

const (
	// PlainNames are the characters of names without escapes. Names with others may be data.
	PlainNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./$"
	// manyNames is the length of the longest path of names that is reported. Names further inside
	// may be data.
	manyNames = 2
)

// Names returns the path of names to the end of data, at which a value begins. It returns at most
// manyNames names, up to the first one that is not plain.
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

// isName reports whether rest, the data after a string, begins with a colon.
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
