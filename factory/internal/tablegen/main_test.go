// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNothingFoundIsAnError: generated informers in an unknown form give an error instead of an empty
// table.
func TestNothingFoundIsAnError(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "core", "v1")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "generic.go"), filepath.Join(other, "pod.go")} {
		if err := os.WriteFile(file, []byte("package informers\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kinds, err := readKinds(dir); err == nil {
		t.Errorf("%d kinds and no error", len(kinds))
	}
	if groups, err := renderGroups([]byte("package informers\n")); err == nil {
		t.Errorf("no error, and %s", groups)
	}
}
