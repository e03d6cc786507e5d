// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"
)

// tree writes files to a new folder, and returns its name.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, all := t.TempDir(), fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	complains(t, os.CopyFS(dir, all), "")
	return dir
}

// complains checks that an error contains the text want, or is nil if want is empty.
func complains(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, which should have %q", err, want)
	}
}

// later is the source of a package whose earlier version has only Old and Taken.
const later = `// Copyright Somebody.

// Package later is one.
package later

import (
	"fmt"
	names "strings"
)

// Old is there.
type Old interface{ Do() }

type Taken[T any] struct{}

// New is a view.
type New[T fmt.Stringer] struct {
	Old // stays embedded
	inner helper
}

// Name returns one.
func (n *New[T]) Name(old Old) string { return n.inner.name(Taken[T]{}, &New[T]{Old: old}) }

type helper struct{}

func (helper) name(...any) string { return names.ToUpper("a") }

func unused() Old { return nil }

const Limit = 1
`

func TestCut(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.com/later\n\ngo 1.26\n", "later.go": later})
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule, Env: append(os.Environ(), "GOWORK=off")}, ".")
	if err != nil || len(loaded[0].Errors) > 0 {
		t.Fatal(err, loaded[0].Errors)
	}
	there := []string{"Old", "Taken"}
	c, out := newCutter(loaded[0], there), t.TempDir()
	complains(t, c.cut("New"), "")
	complains(t, c.write(out), "")
	text, err := os.ReadFile(filepath.Join(out, "later.go"))
	complains(t, err, "")
	for _, want := range []string{
		"// Copyright Somebody.\n\n// Cut by tools/port out of tools/cache/later.go of example.com/later", "names \"strings\"", "\tclientgo.Old // stays embedded\n",
		"func (n *New[T]) Name(old clientgo.Old) string {", "n.inner.name(clientgo.Taken[T]{}, &New[T]{Old: old})", "type helper struct{}", "func (helper) name(",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "unused") {
		t.Errorf("%s", text)
	}
	complains(t, c.cut("Limit"), "Limit is not a type or function of")
}

func TestExportedNames(t *testing.T) {
	dir := tree(t, map[string]string{"a.go": later, "a_test.go": "package later\n\nfunc Test() {}\n"})
	names, err := exportedIn(filepath.Join(dir, "*.go"))
	complains(t, err, "")
	if want := []string{"Limit", "New", "Old", "Taken"}; !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Error(names)
	}
}

func TestPins(t *testing.T) {
	p := port{minor: "v0.36", versions: versions["v0.36"]}
	for required, want := range map[module.Version]string{
		{Path: "github.com/kinformer/cache", Version: "v0.37.4"}:              "v0.36.4",
		{Path: "github.com/kinformer/cache/test/e2e", Version: "v0.37.0"}:     "v0.36.0",
		{Path: "k8s.io/apiserver", Version: "v0.37.2"}:                        "v0.36.6",
		{Path: "k8s.io/utils", Version: "v0.0.0-20260626114624-be93311217bd"}: "",
		{Path: "k8s.io/klog/v2", Version: "v2.140.0"}:                         "",
		{Path: "sigs.k8s.io/controller-runtime", Version: "v0.25.2"}:          "v0.24.1",
		{Path: "github.com/stretchr/testify", Version: "v1.12.1"}:             "",
	} {
		if got := p.pin(required); got != want {
			t.Errorf("%v: %q, and not %q", required, got, want)
		}
	}
}

// repository returns a tree that git tracks.
func repository(t *testing.T, files map[string]string) string {
	dir := tree(t, files)
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}} {
		_, err := output(t.Context(), dir, "git", args...)
		complains(t, err, "")
	}
	return dir
}

func TestCopyAndPatch(t *testing.T) {
	const patch = "Why.\n\n--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-package a\n+package b\n"
	files := map[string]string{"a.go": "package a\n", "sub/b.go": "package sub\n", "a_v037.go": "package a\n", "a_v037_test.go": "package a\n", "a_v036.go": "package a\n",
		"testdata/ports/v0.36/a.patch": patch}
	p := port{from: repository(t, files), to: filepath.Join(t.TempDir(), "to"), minor: "v0.36"}
	complains(t, p.copy(t.Context()), "")
	complains(t, p.patch(t.Context()), "")
	all, err := filesIn(p.to)
	complains(t, err, "")
	if want := []string{"a.go", "a_v036.go", "sub/b.go", "testdata/ports/v0.36/a.patch"}; !slices.Equal(all, want) {
		t.Error(all)
	}
	if text, _ := os.ReadFile(filepath.Join(p.to, "a.go")); string(text) != "package b\n" {
		t.Errorf("%s", text)
	}
	complains(t, p.copy(t.Context()), "must be empty or new, and has a.go")
	complains(t, p.patch(t.Context()), "whoever changed these lines mends")

	changed := maps.Clone(files)
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		changed["testdata/ports/v0.36/"+name+".patch"] = patch
	}
	complains(t, (&port{from: tree(t, changed), to: p.to, minor: "v0.36"}).patch(t.Context()), "6 patches, and there may be 5")
}

// filesIn returns the names of the files in a folder.
func filesIn(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	return names, err
}

func TestLater(t *testing.T) {
	files := map[string]string{"a_v037.go": "package a\n", "a_v038_test.go": "package a\n", "a_v039.go": "package a\n"}
	p := port{from: repository(t, files), to: filepath.Join(t.TempDir(), "to"), minor: "v0.38", k8s: "v0.38.0-beta.0"}
	complains(t, p.copy(t.Context()), "")
	all, err := filesIn(p.to)
	complains(t, err, "")
	if want := []string{"a_v037.go", "a_v038_test.go"}; !slices.Equal(all, want) {
		t.Error(all)
	}
	of := tree(t, map[string]string{"of.go": "package minor\n\n// Of.\nconst Of = \"v0.37\"\n"})
	complains(t, p.renameMinor(filepath.Join(of, "of.go")), "")
	if text, _ := os.ReadFile(filepath.Join(of, "of.go")); string(text) != "package minor\n\n// Of.\nconst Of = \"v0.38\"\n" {
		t.Errorf("%s", text)
	}
	for dir, want := range map[string]bool{".": true, "test/conformance": true, "examples": false, "test": false} {
		if p.has(filepath.Join(p.to, dir)) != want {
			t.Error(dir)
		}
	}
	complains(t, p.replace("a"), "it is not path=version")
	complains(t, p.replace("a/v2=v2.0.0"), "")
	complains(t, p.replace("b=/tmp/b"), "")
	if got := []string{targetOf(p.replaces[0]), targetOf(p.replaces[1])}; !slices.Equal(got, []string{"a/v2@v2.0.0", "/tmp/b"}) {
		t.Error(got)
	}
}

func TestInvalidPortArguments(t *testing.T) {
	complains(t, (&port{minor: "v0.35", to: "x"}).run(t.Context()), "only v0.36 can be made")
	complains(t, (&port{minor: "v0.36"}).run(t.Context()), "-o is needed")
}

// TestPatchesOfLaterMinors: the patches for later minors apply to this tree. The port itself takes minutes.
func TestPatchesOfLaterMinors(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	complains(t, err, "")
	_, version, _ := strings.Cut(string(mod), "k8s.io/client-go ")
	minor := semver.MajorMinor(strings.Fields(version)[0])
	patches, err := filepath.Glob("../../testdata/ports/v*/*.patch")
	complains(t, err, "")
	if len(patches) == 0 {
		t.Error("there are no patches, also of earlier minors")
	}
	for _, patch := range patches {
		if semver.Compare(filepath.Base(filepath.Dir(patch)), minor) <= 0 {
			continue
		}
		absolute, err := filepath.Abs(patch)
		complains(t, err, "")
		check := exec.CommandContext(t.Context(), "git", "apply", "--check", absolute)
		check.Dir = "../.."
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", patch, err, said)
		}
	}
}
