// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestDeprecated: names of all kinds, exported ones only, and only where a paragraph begins so.
func TestDeprecated(t *testing.T) {
	const source = `package p

// Old is old.
//
// Deprecated: use
// New.
func Old() {}

// New is not Deprecated: it is new.
func New() {}

// Deprecated: hidden.
func hidden() {}

// T is a type.
type T struct{}

// Deprecated: call New.
func (T) Do() {}

// NewT makes one.
//
// Deprecated: write T{}.
func NewT() T { return T{} }

// A and B are values.
//
// Deprecated: for ever.
const A, B = 1, 2
`
	path := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	if err := addDeprecated(names, "example.com/p", []string{path}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"example.com/p.Old": "use New.", "example.com/p.T.Do": "call New.", "example.com/p.NewT": "write T{}.",
		"example.com/p.A": "for ever.", "example.com/p.B": "for ever."}
	if !maps.Equal(names, want) {
		t.Errorf("%v", names)
	}
}
