// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/semver"
)

// library has the files of a repository without faults, by name.
var library = map[string]string{
	"go.mod":        "module example.com/lib\n\ngo 1.26.0\n\nrequire k8s.io/client-go v0.37.2\n",
	"nested/go.mod": "module example.com/lib/nested\n\ngo 1.26.0\n\nreplace example.com/lib => ../\n\nrequire example.com/lib v0.37.0\n",
	"CHANGELOG.md":  "# Changelog\n\n## v0.37.0\n\nThe first.\n",
}

// newRelease makes a repository of the library with some changed files, and returns a release of it.
func newRelease(t *testing.T, changes map[string]string) *release {
	t.Helper()
	files := maps.Clone(library)
	maps.Copy(files, changes)
	r := &release{root: "example.com/lib", nested: []string{"nested", "server"}, server: "server/cmd", dir: t.TempDir(), version: "v0.37.0"}
	complains(t, write(r.dir, files), "")
	r.git(t, "init", "--quiet")
	r.git(t, "config", "user.name", "test")
	r.git(t, "config", "user.email", "test@localhost")
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "-m", "all")
	return r
}

// write writes files to a folder.
func write(dir string, files map[string]string) error {
	all := fstest.MapFS{}
	for name, content := range files {
		all[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return os.CopyFS(dir, all)
}

func (r *release) git(t *testing.T, args ...string) string {
	t.Helper()
	said, err := output(t.Context(), r.dir, nil, "git", args...)
	complains(t, err, "")
	return said
}

// complains checks that an error contains the text want, or is nil if want is empty.
func complains(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, which should have %q", err, want)
	}
}

func TestChecks(t *testing.T) {
	replaces := "\nreplace k8s.io/client-go => ../client-go\n"
	for name, tc := range map[string]struct{ file, content, want string }{
		"right":                  {},
		"another minor":          {"go.mod", strings.ReplaceAll(library["go.mod"], "v0.37.2", "v0.38.0"), "requires client-go v0.38.0"},
		"another version of us":  {"nested/go.mod", strings.ReplaceAll(library["nested/go.mod"], "v0.37.0", "v0.0.0"), "requires example.com/lib@v0.0.0"},
		"two of Kubernetes":      {"nested/go.mod", library["nested/go.mod"] + "\nrequire k8s.io/api v0.37.1\n", "requires k8s.io/api@v0.37.1"},
		"root replaces":          {"go.mod", library["go.mod"] + replaces, "example.com/lib replaces k8s.io/client-go"},
		"published one replaces": {"nested/go.mod", library["nested/go.mod"] + replaces, "nested replaces k8s.io/client-go"},
		"server replaces":        {"server/go.mod", strings.ReplaceAll(library["nested/go.mod"], "lib/nested", "lib/server"), "server replaces example.com/lib"},
		"no changelog":           {"CHANGELOG.md", "# Changelog\n\n## Unreleased\n", `is "Unreleased", and not "v0.37.0"`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := map[string]string{}
			if tc.file != "" {
				changed[tc.file] = tc.content
			}
			r := newRelease(t, changed)
			err := r.checkModules(t.Context())
			if err == nil {
				err = r.checkChangelog(t.Context())
			}
			complains(t, err, tc.want)
		})
	}
}

func TestTreeAndTags(t *testing.T) {
	r := newRelease(t, nil)
	r.git(t, "tag", "v0.36.9")
	complains(t, r.checkTree(t.Context()), "")
	complains(t, r.checkTags(t.Context()), "")
	var out strings.Builder
	complains(t, r.finish(t.Context(), &out, true), "")
	complains(t, r.checkTags(t.Context()), "")
	complains(t, r.finish(t.Context(), &out, false), "")
	if root, nested := strings.Index(out.String(), "origin v0.37.0\n"), strings.Index(out.String(), "origin nested/v0.37.0\n"); root < 0 || nested < root {
		t.Error(out.String())
	}
	if tags := r.git(t, "tag", "--list"); tags != "nested/v0.37.0\nserver/v0.37.0\nv0.36.9\nv0.37.0\n" {
		t.Error(tags)
	}
	complains(t, r.checkTags(t.Context()), "there is a tag")
	r.git(t, "mv", "CHANGELOG.md", "b")
	complains(t, r.checkTree(t.Context()), "not clean")
}

func TestInvalidVersions(t *testing.T) {
	for _, version := range []string{"", "0.37.0", "v0.37", "v0.37.0+x", "Unreleased"} {
		complains(t, (&release{version: version}).check(t.Context()), "a version is like v0.37.0")
	}
}

// TestEarlierMinors checks that the tree of an earlier minor is committed on top of the commit, printed,
// and tagged unless dry.
func TestEarlierMinors(t *testing.T) {
	r := newRelease(t, nil)
	r.port = func(_ context.Context, _, minor, to string) error {
		files := maps.Clone(library)
		for name, content := range files {
			files[name] = strings.NewReplacer("v0.37.2", minor+".6", "v0.37.0", minor+".0").Replace(content)
		}
		return write(to, files)
	}
	p, remove, err := r.ported(t.Context(), "v0.36")
	complains(t, err, "")
	complains(t, p.checkTree(t.Context()), "")
	complains(t, p.checkTags(t.Context()), "")
	complains(t, p.checkModules(t.Context()), "")
	for _, dry := range []bool{true, false} {
		var out strings.Builder
		complains(t, p.finish(t.Context(), &out, dry), "")
		for _, want := range []string{"v0.36.0, made by tools/port of v0.37.0", "3 files changed", "origin v0.36.0\n", "origin nested/v0.36.0\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in %s", want, &out)
			}
		}
		if tags := r.git(t, "tag", "--list"); (tags == "") != dry {
			t.Error(tags)
		}
	}
	remove()
	if parent, head := r.git(t, "rev-parse", "v0.36.0~1"), r.git(t, "rev-parse", "HEAD"); parent != head {
		t.Errorf("the parent is %s, and not %s", parent, head)
	}
	if left := r.git(t, "worktree", "list"); strings.Count(left, "\n") != 1 {
		t.Error(left)
	}
}

// thisTree returns a release of this tree, with the first patch version of its minor.
func thisTree(t *testing.T) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	complains(t, err, "")
	r := ours()
	r.dir = root
	modules, err := r.modules()
	complains(t, err, "")
	clientGo, err := clientGoOf(modules)
	complains(t, err, "")
	r.version = semver.MajorMinor(clientGo) + ".0"
	return r
}

// TestThisTree checks at each commit that the versions in go.mod files agree, and at night that users can
// install the committed modules. The API server is resolved, and not compiled, which takes minutes.
func TestThisTree(t *testing.T) {
	r := thisTree(t)
	complains(t, r.checkModules(t.Context()), "")
	if os.Getenv("KINFORMER_NIGHT") == "" {
		t.Skip("the rest is for the night: set KINFORMER_NIGHT=1")
	}
	r.resolve = true
	complains(t, r.checkUsers(t.Context()), "")
}

// TestUserOfControllerRuntime checks that a program with the controller-runtime of an earlier minor, and an
// empty module cache, gets the version of that minor, builds and runs.
func TestUserOfControllerRuntime(t *testing.T) {
	r := thisTree(t)
	if os.Getenv("KINFORMER_NIGHT") == "" || r.version == "v0.36.0" {
		t.Skip("for the night, in the tree that others are made of: set KINFORMER_NIGHT=1")
	}
	p, remove, err := r.ported(t.Context(), "v0.36")
	complains(t, err, "")
	defer remove()
	dir := t.TempDir()
	env, err := p.published(t.Context(), dir)
	complains(t, err, "")
	user := filepath.Join(dir, "user")
	complains(t, os.CopyFS(user, os.DirFS("testdata/user")), "")
	for _, args := range [][]string{{"mod", "init", "example.com/user"}, {"get", "sigs.k8s.io/controller-runtime@v0.24.1"},
		{"get", p.root + "@v0.36"}, {"mod", "tidy"}, {"build", "-o", "user", "."}} {
		_, err := output(t.Context(), user, env, "go", args...)
		complains(t, err, "")
	}
	listed, err := output(t.Context(), user, env, "go", "list", "-m", "k8s.io/client-go", "sigs.k8s.io/controller-runtime")
	complains(t, err, "")
	if !strings.HasPrefix(listed, "k8s.io/client-go v0.36.") || !strings.Contains(listed, "controller-runtime v0.24.1") {
		t.Error(listed)
	}
	said, err := output(t.Context(), user, nil, filepath.Join(user, "user"))
	complains(t, err, "")
	if said != "ns/a in an informer of github.com/kinformer/cache\n" {
		t.Error(said)
	}
}
