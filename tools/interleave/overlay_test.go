// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestWithPoints(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing": {
			"package p\n\nimport \"fmt\"\n",
			"package p\n\nimport \"fmt\"\n",
		},
		"imports": {
			"package p\n\nimport (\n\t\"sync\"\n\tmine \"sync/atomic\"\n)\n",
			"package p\n\nimport (\n\t\"" + interleave + "/sync\"\n\tmine \"" + interleave + "/atomic\"\n)\n",
		},
		"goroutine": {
			"package p\n\nfunc f() {\n\tgo func() {\n\t\tgo f()\n\t}()\n}\n",
			"package p; import interleave \"" + interleave + "\"\n\nfunc f() {\n\tinterleave.Go(func() { func() {\n\t\tinterleave.Go(func() { f() })\n\t}() })\n}\n",
		},
		"yield": {
			"package p\n\nimport \"runtime\"\n\nfunc f() { runtime.Gosched() }\n",
			"package p; import interleave \"" + interleave + "\"\n\nimport \"runtime\"\n\nfunc f() { interleave.Point() }\n\nvar _ = runtime.Gosched\n",
		},
	} {
		if got, err := withPoints("p.go", []byte(c.text)); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\ninstead of\n%s", name, err, got, c.want)
		}
	}
	if _, err := withPoints("p.go", []byte("package")); err == nil {
		t.Error("no error for a text that is not a Go file")
	}
}

// TestWrite checks that each file has a copy, and that only tests for schedules are kept.
func TestWrite(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	err := errors.Join(os.CopyFS(root, fstest.MapFS{
		"a.go":           {Data: []byte("package p\n\nimport _ \"sync\"\n")},
		"a_test.go":      {Data: []byte("package p\n")},
		"points_test.go": {Data: []byte("//go:build x\n\npackage p\n")},
		"kept_test.go":   {Data: []byte("\n//go:build interleave\n\npackage p\n")},
	}), write(out, root, "."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "overlay.json"))
	var got struct{ Replace map[string]string }
	if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
		t.Fatal(err)
	}
	by, ok := got.Replace[filepath.Join(root, "a.go")]
	_, kept := got.Replace[filepath.Join(root, "kept_test.go")]
	if with, err := os.ReadFile(by); !ok || err != nil || !strings.Contains(string(with), interleave) {
		t.Errorf("a.go is replaced by %q: %v", with, err)
	}
	if kept || len(got.Replace) != 3 || got.Replace[filepath.Join(root, "a_test.go")] != "" {
		t.Errorf("%v", got.Replace)
	}
	if err := write(out, root, "nowhere"); err == nil {
		t.Error("no error for a folder without a package")
	}
}
