// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewest(t *testing.T) {
	versions := []string{"v0.37.0", "v0.37.2", "v0.37.10", "v0.38.0-alpha.0", "v0.38.0-rc.1", "v1.5.2"}
	for wanted, want := range map[string]string{"v0.37": "v0.37.10", "v0.37.0": "v0.37.0", "v0.38.0-rc.1": "v0.38.0-rc.1", "v0.38": "", "v0.37.3": "", "latest": ""} {
		got, err := newest(versions, wanted)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", wanted, got, err)
		}
	}
}

func TestIsStaging(t *testing.T) {
	for _, m := range []struct {
		path, version string
		want          bool
	}{
		{"k8s.io/api", "v0.37.2", true},
		{"k8s.io/klog/v2", "v2.140.0", false},
		{"k8s.io/utils", "v0.0.0-20260626114624-be93311217bd", false},
		{"sigs.k8s.io/apiserver-network-proxy/konnectivity-client", "v0.36.0", false},
	} {
		if got := isStaging(m.path, m.version); got != m.want {
			t.Errorf("%s %s: %v", m.path, m.version, got)
		}
	}
}

// TestBuildCountsWhatDoesNotCompile: in packages and in tests, more than the ten lines after which
// the compiler stops.
func TestBuildCountsWhatDoesNotCompile(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"package": {"a.go", "12 lines do not compile"},
		"test":    {"a_test.go", "lines do not compile"},
		"neither": {"a.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := bump{dir: t.TempDir()}
			write(t, b.dir, "go.mod", "module example.com/a\n\ngo 1.26.0\n")
			write(t, b.dir, "b.go", "package a\n")
			write(t, b.dir, tc.file, "package a\n"+strings.Repeat("var _ = nothing\n", 12))
			said, err := b.build(t.Context(), ".")
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

func TestAllModules(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{".", "a", "a/b", "bin/c", "testdata/d", ".hidden"} {
		write(t, dir, filepath.Join(folder, "go.mod"), "module example.com/x\n")
	}
	folders, err := allModules(dir)
	if err != nil || strings.Join(folders, " ") != ". a a/b" {
		t.Error(folders, err)
	}
}

// TestAStepThatFailsIsSaid: the next ones are done, and the result is an error.
func TestAStepThatFailsIsSaid(t *testing.T) {
	var out strings.Builder
	b := bump{out: &out, dir: t.TempDir(), modules: []string{"."}, from: "v0.37.0", to: "v0.37.2"}
	write(t, b.dir, "go.mod", "module example.com/a\n\ngo 1.26.0\n")
	write(t, b.dir, "a.go", "package a\n\nvar _ = nothing\n")
	if err := b.move(context.WithoutCancel(t.Context())); !errors.Is(err, errToDo) {
		t.Error(err)
	}
	for _, want := range []string{"FAIL  build .", "undefined: nothing", "surface"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}
