// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"slices"
	"strings"
)

// The values of a variable of the environment that turns something off, in any case.
var (
	OffWords = []string{"off", "false", "0", "no"}
	OnWords  = []string{"on", "true", "1", "yes"}
)

// SwitchedOff reports whether a value of such a variable turns it off. The empty value does not. understood is
// false for a value that is in neither list.
func SwitchedOff(value string) (off, understood bool) {
	is := func(word string) bool { return strings.EqualFold(word, value) }
	off = slices.ContainsFunc(OffWords, is)
	return off, off || value == "" || slices.ContainsFunc(OnWords, is)
}
