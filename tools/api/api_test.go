// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// tagged is a library as it was when it was tagged.
var tagged = map[string]string{
	"lib.go":                 "package lib\n\ntype Options struct{ Name string }\n\nfunc Do(o Options) error { return nil }\n",
	"sub/sub.go":             "package sub\n\nconst Answer = 42\n",
	"internal/inside/in.go":  "package inside\n\nfunc Gone() {}\n",
	"cmd/program/program.go": "package main\n\nfunc Main() {}\n\nfunc main() {}\n",
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// serve has the go command get the tagged library, and what it requires, from a folder.
func serve(t *testing.T) {
	t.Helper()
	proxy := t.TempDir()
	client := "module k8s.io/client-go\n\ngo 1.26.0\n"
	publish(t, proxy, module.Version{Path: "example.com/lib", Version: "v0.37.0"}, goMod("v0.37.2"), tagged)
	for _, version := range []string{"v0.37.2", "v0.38.1"} {
		publish(t, proxy, module.Version{Path: "k8s.io/client-go", Version: version}, client, nil)
	}
	for name, value := range map[string]string{"GOPROXY": "file://" + proxy, "GOMODCACHE": t.TempDir(), "GOSUMDB": "off",
		"GOFLAGS": "-modcacherw", "GOPRIVATE": "", "GONOPROXY": "none"} {
		t.Setenv(name, value)
	}
}

func goMod(clientGo string) string {
	return "module example.com/lib\n\ngo 1.26.0\n\nrequire k8s.io/client-go " + clientGo + "\n"
}

func publish(t *testing.T, proxy string, m module.Version, mod string, files map[string]string) {
	t.Helper()
	source, at := t.TempDir(), filepath.Join(proxy, m.Path, "@v")
	writeTree(t, source, files)
	writeTree(t, source, map[string]string{"go.mod": mod})
	writeTree(t, at, map[string]string{m.Version + ".mod": mod, m.Version + ".info": `{"Version":"` + m.Version + `"}`})
	file, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zip.CreateFromDir(file, m, source), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestGuard: names that are gone or changed are an error within a minor, and only there.
func TestGuard(t *testing.T) {
	serve(t)
	for name, tc := range map[string]struct {
		clientGo string
		changes  map[string]string
		err      error
		wants    []string
	}{
		"nothing": {"v0.37.2", nil, nil, []string{"2 packages compared with v0.37.0: 0 incompatible changes"}},
		"more": {"v0.37.2", map[string]string{"lib.go": tagged["lib.go"] + "\nfunc More() {}\n", "new/new.go": "package new\n"}, nil,
			[]string{"compatible: More: added", "example.com/lib/new", "compatible: the package is new", ": 0 incompatible"}},
		"a function has changed": {"v0.37.2", map[string]string{"lib.go": strings.ReplaceAll(tagged["lib.go"], "(o Options) error { return nil }", "(o *Options) {}")}, errIncompatible,
			[]string{"incompatible: Do: changed from func(Options) error to func(*Options)", ": 1 incompatible"}},
		"a name is gone":    {"v0.37.2", map[string]string{"sub/sub.go": "package sub\n"}, errIncompatible, []string{"incompatible: Answer: removed"}},
		"a package is gone": {"v0.37.2", map[string]string{"sub/sub.go": ""}, errIncompatible, []string{"incompatible: the package is gone"}},
		"internal or a program": {"v0.37.2", map[string]string{"internal/inside/in.go": "package inside\n", "cmd/program/program.go": "package main\n\nfunc main() {}\n"}, nil,
			[]string{": 0 incompatible"}},
		"another minor": {"v0.38.1", map[string]string{"sub/sub.go": "package sub\n"}, nil, []string{"incompatible: Answer: removed", ": 1 incompatible"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := library{dir: t.TempDir(), root: "example.com/lib", folders: []string{""}}
			writeTree(t, l.dir, tagged)
			writeTree(t, l.dir, tc.changes)
			if content, changed := tc.changes["sub/sub.go"]; changed && content == "" {
				os.RemoveAll(filepath.Join(l.dir, "sub"))
			}
			writeTree(t, l.dir, map[string]string{"go.mod": goMod(tc.clientGo), "go.sum": ""})
			t.Setenv("GOFLAGS", "-modcacherw -mod=mod")
			var out strings.Builder
			if err := l.guard(t.Context(), "v0.37.0", &out); !errors.Is(err, tc.err) {
				t.Error(err)
			}
			for _, want := range tc.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

// TestNoBaseline: without a version it says so; it does not when there is one.
func TestNoBaseline(t *testing.T) {
	l := library{dir: t.TempDir()}
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=test", "-c", "user.email=test@localhost"}, args...)...)
		cmd.Dir = l.dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, said)
		}
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "-m", "all")
	var out strings.Builder
	if err := l.guard(t.Context(), "none", &out); err != nil || !strings.Contains(out.String(), "no version is tagged yet") {
		t.Error(err, out.String())
	}
	git("tag", "v0.37.0")
	git("tag", "nested/v0.37.1")
	if err := l.guard(t.Context(), "none", &out); err == nil || !strings.Contains(err.Error(), "v0.37.0 is tagged") {
		t.Error(err)
	}
	if err := l.guard(t.Context(), "", &out); err == nil || !strings.Contains(err.Error(), "no version") {
		t.Error(err)
	}
}

// TestBaselineFile: the file names a version, or none.
func TestBaselineFile(t *testing.T) {
	for file, want := range map[string]string{"# a\n\nnone\n": "none", "v0.37.0\n": "v0.37.0", "# a\n": ""} {
		if got := baseline(file); got != want {
			t.Errorf("%q: %q", file, got)
		}
	}
	if baseline(baselineFile) == "" {
		t.Error("baseline.txt says nothing")
	}
}
