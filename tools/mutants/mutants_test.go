// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutants checks the patches that the script run applies.
package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// head matches the first two lines of a patch: the fault, and the tests that must fail if no schedule does.
var head = regexp.MustCompile(`^.+\nTests: .+\n`)

// TestPatchesApply checks that the mutants' patches apply to the code and begin with the two lines, but not that
// the tests kill them.
func TestPatchesApply(t *testing.T) {
	for _, pkg := range []string{"table", "eventlog", "fanout"} {
		patches, err := filepath.Glob("../../internal/" + pkg + "/testdata/mutants/*.patch")
		if err != nil || len(patches) == 0 {
			t.Fatal(pkg, patches, err)
		}
		for _, patch := range patches {
			text, err := os.ReadFile(patch)
			if err != nil || !head.Match(text) {
				t.Errorf("%s, %v: the first line must say what is wrong, the second one \"Tests: \" and a regexp", patch, err)
			}
			check := exec.CommandContext(t.Context(), "git", "apply", "--check", "tools/mutants/"+patch)
			check.Dir = "../.."
			if output, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: make the change again by hand, and write the patch by git diff\n%s", patch, err, output)
			}
		}
	}
}
