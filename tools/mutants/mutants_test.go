// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPatchesApply checks that the mutants' patches apply to the code, but not that the tests kill
// them.
func TestPatchesApply(t *testing.T) {
	mutants, err := readMutants("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if err := (packageCopy{"../.."}).do(t.Context(), "git", "apply", "--check", m.patch); err != nil {
			t.Errorf("%s: %v: make the change again by hand, and write the patch by git diff", m.name, err)
		}
	}
}

func TestAMutantNeedsItsTwoLines(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":  "",
		"no tests": "It is wrong.\ndiff --git\n",
		"no words": "\nTests: TestX\n",
	} {
		file := filepath.Join(t.TempDir(), "m.patch")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if m, err := readMutant(file); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	file := filepath.Join(t.TempDir(), "m.patch")
	if err := os.WriteFile(file, []byte("It is wrong.\nTests: TestX/y\ndiff\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := readMutant(file)
	if err != nil || m.name != "m" || m.wrong != "It is wrong." || m.tests != "TestX/y" {
		t.Errorf("%+v, %v", m, err)
	}
}
