// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNames checks that a path contains neither names further inside nor names that are not plain.
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
