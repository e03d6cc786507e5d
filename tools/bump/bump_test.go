// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
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

// TestBuildCountsWhatDoesNotCompile: in packages and in tests, and in packages that import others
// that do not compile, which the go command leaves out.
func TestBuildCountsWhatDoesNotCompile(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"package":  {"a.go", "13 places do not compile"},
		"test":     {"a_test.go", "13 places do not compile"},
		"importer": {"a.txt", "1 places do not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bump{dir: t.TempDir()}
			write(t, b.dir, "go.mod", "module example.com/a\n\ngo 1.26.0\n")
			write(t, b.dir, "b.go", "package a\n")
			write(t, b.dir, tc.file, "package a\n"+strings.Repeat("var _ = nothing\n", 12))
			write(t, b.dir, "over/over.go", "package over\n\nimport \"example.com/a\"\n\nvar _ = a.Nothing\n")
			said, err := b.build(t.Context(), ".")
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(said, "over/over.go:5:") {
				t.Errorf("%v\n%s", err, said)
			}
			write(t, b.dir, tc.file, "package a\n")
			write(t, b.dir, "over/over.go", "package over\n")
			if said, err := b.build(t.Context(), "."); err != nil || said != "" {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

// TestTidyTakesBackWhatItMoves: for a package that the version does not have, go mod tidy takes a
// version that has it. Then go.mod and go.sum stay as they were.
func TestTidyTakesBackWhatItMoves(t *testing.T) {
	proxy, dir := t.TempDir(), t.TempDir()
	for version, file := range map[string]string{"v0.1.0": "old.go", "v0.2.0": "new/new.go"} {
		publish(t, proxy, version, file)
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOSUMDB", "off")
	b := bump{dir: dir, to: "v0.1.0"}
	write(t, dir, "go.mod", "module example.com/a\n\ngo 1.26.0\n\nrequire k8s.io/example v0.1.0\n")
	write(t, dir, "a.go", "package a\n\nimport _ \"k8s.io/example/new\"\n")
	if said, err := b.command(t.Context(), ".", "go", "mod", "download", "k8s.io/example@v0.1.0"); err != nil {
		t.Fatal(err, said)
	}
	mod, sum := read(t, dir, "go.mod"), read(t, dir, "go.sum")
	if _, err := b.tidy(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "it takes k8s.io/example v0.2.0") {
		t.Error(err)
	}
	if read(t, dir, "go.mod") != mod || read(t, dir, "go.sum") != sum {
		t.Errorf("go.mod and go.sum are\n%s\n%s", read(t, dir, "go.mod"), read(t, dir, "go.sum"))
	}
	write(t, dir, "a.go", "package a\n\nimport _ \"k8s.io/example\"\n")
	if said, err := b.tidy(t.Context(), "."); err != nil {
		t.Error(err, said)
	}
}

// publish writes a version of k8s.io/example with one file into the folder of a module proxy.
func publish(t *testing.T, proxy, version, file string) {
	t.Helper()
	source, m := t.TempDir(), module.Version{Path: "k8s.io/example", Version: version}
	write(t, source, "go.mod", "module k8s.io/example\n\ngo 1.26.0\n")
	write(t, source, file, "package example\n")
	at := filepath.Join("k8s.io", "example", "@v")
	write(t, proxy, filepath.Join(at, version+".info"), `{"Version":"`+version+`"}`)
	write(t, proxy, filepath.Join(at, version+".mod"), read(t, source, "go.mod"))
	write(t, proxy, filepath.Join(at, "list"), "v0.1.0\nv0.2.0\n")
	var packed bytes.Buffer
	if err := zip.CreateFromDir(&packed, m, source); err != nil {
		t.Fatal(err)
	}
	write(t, proxy, filepath.Join(at, version+".zip"), packed.String())
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
