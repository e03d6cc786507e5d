// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const nestedProgram = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/lib/nested\"\n)\n\nfunc main() { fmt.Println(nested.Twice()) }\n"

// TestUsersOfALibrary: what a user gets works if, and only if, its requirements do without the
// replace directives.
func TestUsersOfALibrary(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	alone := "module example.com/lib\n\ngo 1.26.0\n"
	for name, tc := range map[string]struct {
		changes map[string]string
		wants   []string
	}{
		"all is right":          {nil, nil},
		"requires what is gone": {map[string]string{"nested/go.mod": nestedMod("v0.36.9")}, []string{"a user of example.com/lib/nested", "v0.36.9"}},
		"root replaces":         {map[string]string{"go.mod": alone + "\nreplace example.com/x => ./x\n"}, []string{"a user of cmd/answer", "replace"}},
		"command is not there":  {map[string]string{"cmd/answer/main.go": ""}, []string{"a user of cmd/answer"}},
		"does not compile":      {map[string]string{"cmd/answer/main.go": "package main\n\nfunc main() { nothing() }\n"}, []string{"a user of cmd/answer", "undefined: nothing"}},
		"not in git":            {map[string]string{".gitignore": "lib.go\n"}, []string{"a user of example.com/lib/nested"}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{"go.mod": alone, "cmd/answer/main.go": "package main\n\nfunc main() {}\n"}
			for file, content := range tc.changes {
				changes[file] = content
			}
			r := newRelease(t, changes)
			r.users, r.commands = []user{{"nested", nestedProgram, "84\n"}}, []string{"cmd/answer"}
			_, err := r.checkUsers(t.Context())
			complains(t, err, tc.wants...)
		})
	}
}

// TestAProgramThatPrintsSomethingElse: what users get has to work, not only to compile.
func TestAProgramThatPrintsSomethingElse(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	r := newRelease(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.26.0\n"})
	r.users = []user{{"nested", nestedProgram, "85\n"}}
	_, err := r.checkUsers(t.Context())
	complains(t, err, `prints "84\n" and not "85\n"`)
}

// thisTree is a release of the version that the go.mod files of this tree are for.
func thisTree(t *testing.T) *release {
	t.Helper()
	r := ours()
	text, err := os.ReadFile("../../kinformerprom/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\t"+r.root+" ")
	r.version, _, _ = strings.Cut(after, "\n")
	r.dir = filepath.Join("..", "..")
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestThisTree: what has to be right at each commit, not only at a release.
func TestThisTree(t *testing.T) {
	r := thisTree(t)
	for _, c := range checks {
		switch c.name {
		case "modules", "documents", "licences":
			note, err := c.run(r, t.Context())
			t.Log(c.name, note)
			complains(t, err)
		}
	}
}

// TestUsersOfThisTree: go get has the root, kinformerprom and kinformerotel, and go install the
// command, from tags of this tree, with an empty module cache.
func TestUsersOfThisTree(t *testing.T) {
	note, err := thisTree(t).checkUsers(t.Context())
	t.Log(note)
	complains(t, err)
}
