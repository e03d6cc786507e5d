// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNames: names of maps further in, and odd ones, are not told.
func TestNames(t *testing.T) {
	for data, names := range map[string]string{
		``:                      "",
		`{`:                     "",
		`{"a":`:                 "a",
		`{"a":{`:                "a",
		`{"a":{"b":`:            "a.b",
		`{"a":{"b":{"c":`:       "a.b",
		`{"a":{"b":[1,{"c":2},`: "a.b",
		`{"a":{"b":[{"c":[2]}]},"d":{"e":"f{","g":`: "d.g",
		`{"a":{"b":1},"c":[{"d":`:                   "c",
		`{"a":["hunter2",`:                          "a",
		`{"a" : {"b" :["hunter2",`:                  "a.b",
		`{"a":{"b":"hunter2","c":`:                  "a.c",
		`{"a":{"b":1},"c":[[`:                       "c",
		`{"a":{"b\"{":1,"c d":`:                     "a",
		`{"x y":{"a":`:                              "",
	} {
		assert.Equal(t, names, Names([]byte(data)), data)
	}
}
