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
)

// library is a repository with which everything is right.
var library = map[string]string{
	"go.mod":           "module example.com/lib\n\ngo 1.26.0\n\nrequire k8s.io/client-go v0.37.2\n",
	"lib.go":           "package lib\n\nfunc Answer() int { return 42 }\n",
	"nested/go.mod":    nestedMod("v0.37.0"),
	"nested/nested.go": "package nested\n\nimport \"example.com/lib\"\n\nfunc Twice() int { return 2 * lib.Answer() }\n",
	"only/go.mod":      "module example.com/lib/only\n\ngo 1.26.0\n\nreplace example.com/lib => ../\n\nrequire example.com/lib v0.37.0\n",
	"LICENSE":          "Apache License\nVersion 2.0, January 2004\n",
	"CHANGELOG.md":     "# Changelog\n\n## v0.37.0\n\nThe first. See [there](docs/migration.md#all).\n\n### Differs from client-go\n\nMuch.\n\n## v0.36.1\n\nclient-go v0.36.9\n",
	"README.md":        "For client-go v0.37 and Go 1.26, tested with client-go v0.37.2.\n\n    go get example.com/lib@v0.37\n    go get k8s.io/client-go@v0.38 example.com/lib@v0.38\n",
}

func nestedMod(version string) string {
	return "module example.com/lib/nested\n\ngo 1.26.0\n\nreplace example.com/lib => ../\n\nrequire example.com/lib " + version + "\n"
}

// newRelease makes a repository of the library with some files changed, and a release of it. A file
// without content is not there.
func newRelease(t *testing.T, changes map[string]string) *release {
	t.Helper()
	files := maps.Clone(library)
	maps.Copy(files, changes)
	r := &release{root: "example.com/lib", published: []string{"nested"}, dir: t.TempDir(), version: "v0.37.0"}
	for name, content := range files {
		if content != "" {
			writeFile(t, filepath.Join(r.dir, name), content)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"},
		{"-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "-m", "all"},
	} {
		if _, err := git(t.Context(), r.dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	return r
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// complains fails unless an error has each of the texts, or is nil if there are none.
func complains(t *testing.T, err error, wants ...string) {
	t.Helper()
	if err == nil && len(wants) > 0 {
		t.Fatalf("no error; want %q", wants)
	}
	if err != nil && len(wants) == 0 {
		t.Fatal(err)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in the error %q", want, err)
		}
	}
}

func TestChecksSayWhatIsWrong(t *testing.T) {
	mod, version, documents, log := (*release).checkModules, (*release).checkVersion, (*release).checkDocuments, (*release).checkChangelog
	for name, tc := range map[string]struct {
		check   func(*release, context.Context) (string, error)
		changes map[string]string
		wants   []string
	}{
		"version is right":   {check: version},
		"modules are right":  {check: mod},
		"documents as well":  {check: documents},
		"and the changelog":  {check: log},
		"tree is committed":  {check: (*release).checkTree},
		"another minor":      {version, map[string]string{"go.mod": strings.ReplaceAll(library["go.mod"], "v0.37.2", "v0.38.0")}, []string{"asks for client-go v0.38.0"}},
		"required otherwise": {mod, map[string]string{"nested/go.mod": nestedMod("v0.0.0")}, []string{"nested/go.mod: requires example.com/lib v0.0.0", "-write"}},
		"also where nothing is published": {mod, map[string]string{"only/go.mod": strings.ReplaceAll(library["only/go.mod"], "v0.37.0", "v0.36.0")},
			[]string{"only/go.mod: requires example.com/lib v0.36.0"}},
		"published module gone":  {mod, map[string]string{"nested/go.mod": ""}, []string{"nested has no go.mod"}},
		"another path":           {mod, map[string]string{"nested/go.mod": strings.ReplaceAll(library["nested/go.mod"], "lib/nested", "lib/other")}, []string{"has to be example.com/lib/nested"}},
		"root replaces":          {mod, map[string]string{"go.mod": library["go.mod"] + "\nreplace k8s.io/client-go => ../client-go\n"}, []string{"go.mod: replaces k8s.io/client-go: go install refuses that"}},
		"published one replaces": {mod, map[string]string{"nested/go.mod": library["nested/go.mod"] + "\nreplace example.com/x => example.com/y v1.0.0\n"}, []string{"replaces example.com/x, which users do not get"}},
		"published one excludes": {mod, map[string]string{"nested/go.mod": library["nested/go.mod"] + "\nexclude example.com/x v1.0.0\n"}, []string{"excludes example.com/x@v1.0.0"}},
		"published needs what is not": {mod, map[string]string{"nested/go.mod": library["nested/go.mod"] + "\nrequire example.com/lib/only v0.37.0\n"},
			[]string{"requires example.com/lib/only, which is not published"}},
		"two versions of Kubernetes": {mod, map[string]string{"only/go.mod": library["only/go.mod"] + "\nrequire k8s.io/api v0.37.1\n"}, []string{"requires k8s.io/api v0.37.1, and client-go is v0.37.2"}},
		"another Go":                 {mod, map[string]string{"only/go.mod": strings.ReplaceAll(library["only/go.mod"], "1.26.0", "1.25.0")}, []string{"another go line"}},
		"old versions in documents": {documents, map[string]string{"docs/a.md": "client-go v0.36 and Go 1.25, Kubernetes 1.36\n| client-go, api | v0.36.x | v0.37.1 |\ngo get example.com/lib/nested@v0.36.0\n"},
			[]string{"docs/a.md: client-go v0.36, and it is v0.37.2", "Go 1.25, and it is v1.26.0", "Kubernetes 1.36, and it is v1.37", "client-go v0.37.1", "example.com/lib/nested v0.36.0, and it is v0.37.0"}},
		"two minors to get": {documents, map[string]string{"doc.go": "package lib\n\n// go get k8s.io/client-go@v0.38 example.com/lib@v0.37\n"}, []string{"doc.go: example.com/lib v0.37, and it is v0.38"}},
		"nothing on it":     {log, map[string]string{"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\nMuch.\n"}, []string{`"## v0.37.0"`}},
		"empty section":     {log, map[string]string{"CHANGELOG.md": "# Changelog\n\n## v0.37.0\n\n## v0.36.0\n\nMuch.\n"}, []string{"is empty"}},
		"differs, no link":  {log, map[string]string{"CHANGELOG.md": "# Changelog\n\n## v0.37.0\n\nMuch.\n"}, []string{"docs/migration.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t, tc.changes)
			_, err := tc.check(r, t.Context())
			complains(t, err, tc.wants...)
		})
	}
}

func TestTreeHasToBeClean(t *testing.T) {
	r := newRelease(t, nil)
	writeFile(t, filepath.Join(r.dir, "new.go"), "package lib\n")
	_, err := r.checkTree(t.Context())
	complains(t, err, "not clean", "new.go")
}

func TestTagsThatAreThere(t *testing.T) {
	r := newRelease(t, nil)
	for _, tag := range []string{"v0.36.9", "v0.38.0", "nested/v0.36.9"} {
		if _, err := git(t.Context(), r.dir, "tag", tag); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.checkVersion(t.Context())
	complains(t, err)
	for _, tag := range []string{"v0.37.1", "nested/v0.37.0"} {
		if _, err := git(t.Context(), r.dir, "tag", tag); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.checkVersion(t.Context())
	complains(t, err, "tag v0.37.1 is of a later version", "tag nested/v0.37.0 is there already")
}

func TestWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"", "0.37.0", "v0.37", "v0.37.0+x", "Unreleased"} {
		r := &release{version: version}
		complains(t, r.complete(), "a version is like v0.37.0")
	}
}

// TestWrite: after it the requirements are those of the next version, and nothing else is changed.
func TestWrite(t *testing.T) {
	r := newRelease(t, nil)
	r.version = "v0.37.1"
	_, err := r.checkModules(t.Context())
	complains(t, err, "nested/go.mod: requires example.com/lib v0.37.0", "only/go.mod")
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	_, err = r.checkModules(t.Context())
	complains(t, err)
	text, err := os.ReadFile(filepath.Join(r.dir, "nested/go.mod"))
	if err != nil || string(text) != nestedMod("v0.37.1") {
		t.Errorf("%s %v", text, err)
	}
	changed, err := git(t.Context(), r.dir, "status", "--porcelain")
	if err != nil || changed != " M nested/go.mod\n M only/go.mod\n" {
		t.Errorf("%s %v", changed, err)
	}
}

func TestNotesLeadThereFromAnywhere(t *testing.T) {
	want := "The first. See [there](https://example.com/lib/blob/v0.37.0/docs/migration.md#all).\n\n### Differs from client-go\n\nMuch.\n"
	if notes := newRelease(t, nil).notes(); notes != want {
		t.Errorf("%s", notes)
	}
}

// TestFinish: a dry run sets no tag. Else all are set, and named in the order in which to push
// them.
func TestFinish(t *testing.T) {
	r := newRelease(t, nil)
	r.configureIdentity(t)
	for _, dry := range []bool{true, false} {
		var out strings.Builder
		if err := r.finish(t.Context(), &out, dry); err != nil {
			t.Fatal(err)
		}
		root, nested := strings.Index(out.String(), "git push origin v0.37.0\n"), strings.Index(out.String(), "git push origin nested/v0.37.0\n")
		if root < 0 || nested < root || !strings.Contains(out.String(), "Much.") {
			t.Errorf("%s", out.String())
		}
		tags, err := git(t.Context(), r.dir, "tag", "--list")
		if want := map[bool]string{true: "", false: "nested/v0.37.0\nv0.37.0\n"}[dry]; err != nil || tags != want {
			t.Errorf("dry run %v: tags %q %v", dry, tags, err)
		}
	}
}

func (r *release) configureIdentity(t *testing.T) {
	t.Helper()
	for _, pair := range [][2]string{{"user.name", "test"}, {"user.email", "test@localhost"}, {"tag.gpgsign", "false"}} {
		if _, err := git(t.Context(), r.dir, "config", pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARedCheckHidesNoOther: each check has a line, and one that fails sets the result.
func TestARedCheckHidesNoOther(t *testing.T) {
	saved := checks
	defer func() { checks = saved }()
	checks = []check{{"version", (*release).checkVersion}, {"modules", (*release).checkModules}, {"changelog", (*release).checkChangelog}}
	r := newRelease(t, map[string]string{"nested/go.mod": nestedMod("v0.0.0")})
	var out strings.Builder
	if err := r.check(t.Context(), &out); err != errNotReady {
		t.Error(err)
	}
	for _, want := range []string{"ok    version ", "FAIL  modules ", "ok    changelog ", "not ready: 1 of 3"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
