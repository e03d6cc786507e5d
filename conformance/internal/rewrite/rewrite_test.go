// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/conformance/internal/prune"
)

func rewritten(t *testing.T, r Rules, src string) (string, []string) {
	t.Helper()
	out, names, err := r.File(prune.File{Name: "a_test.go", Src: []byte(src)})
	require.NoError(t, err)
	_, err = parser.ParseFile(token.NewFileSet(), "a_test.go", out.Src, 0)
	require.NoError(t, err, "%s", out.Src)
	return string(out.Src), names
}

func TestATestInsideGetsADotImport(t *testing.T) {
	got, _ := rewritten(t, Rules{DotImport: "ours/p"}, "// Licence.\npackage p\n\nimport \"testing\"\n")
	assert.Equal(t, "// Licence.\npackage p; import . \"ours/p\"\n\nimport \"testing\"\n", got)
}

func TestATestOutsideGetsNone(t *testing.T) {
	rules := Rules{DotImport: "ours/p", Imports: map[string]string{"theirs/p": "ours/p"}}
	got, _ := rewritten(t, rules, "package p_test\n\nimport \"theirs/p\"\n")
	assert.Equal(t, "package p_test\n\nimport \"ours/p\"\n", got)
}

func TestImportsAreReplacedWhateverTheirName(t *testing.T) {
	rules := Rules{DotImport: "ours/p", Imports: map[string]string{"theirs/q": "ours/q"}}
	got, _ := rewritten(t, rules, "package p_test\n\nimport (\n\tname \"theirs/q\"\n\t\"theirs/q/r\"\n)\n")
	assert.Equal(t, "package p_test\n\nimport (\n\tname \"ours/q\"\n\t\"theirs/q/r\"\n)\n", got)
}

func TestAssertionsAreReadAsTheInterface(t *testing.T) {
	rules := Rules{DotImport: "p", Assertions: map[string]string{"hidden": "Store"}}
	got, _ := rewritten(t, rules, "package p\n\nfunc f() { a := x.(*hidden); b := x.(*shown); var c *hidden; d := x.(hidden) }\n")
	assert.Contains(t, got, "{ a := x.(Store); b := x.(*shown); var c *hidden; d := x.(hidden) }")
}

var rigRules = Rules{DotImport: "p", Rig: &Rig{
	Constructors: map[string]string{"NewThing": "newRig", "NewThingWith": "newRigWith"},
	Type:         "Thing",
	RigType:      "rig",
}}

func TestTheRigReplacesWhatIsMade(t *testing.T) {
	got, names := rewritten(t, rigRules, `package p

func makes() (*Thing, error) { return NewThing(1), nil }
func literal() { r := &Thing{Thing: 1}; r.Thing = NewThingWith; r.NewThing() }
func handler(r *Thing) { r.Do() }
`)
	assert.Contains(t, got, "func makes() (*rig, error) { return newRig(1), nil }")
	assert.Contains(t, got, "func literal() { r := &rig{Thing: 1}; r.Thing = newRigWith; r.NewThing() }")
	assert.Contains(t, got, "func handler(r *Thing) { r.Do() }", "a handler's parameter is not made here")
	assert.Equal(t, []string{"makes", "literal"}, names)
}

func TestReachingFollowsHelpers(t *testing.T) {
	src := `package p
func makes() {}
func helper() { makes() }
func TestA() { helper() }
func TestB() { other() }
func other() {}
`
	tree, err := parser.ParseFile(token.NewFileSet(), "a_test.go", src, parser.SkipObjectResolution)
	require.NoError(t, err)
	got := Reaching([]*ast.File{tree}, []string{"makes"})
	assert.Equal(t, map[string]bool{"makes": true, "helper": true, "TestA": true}, got)
}

func TestRenameChangesThePackageClauseOnly(t *testing.T) {
	got, err := Rename(prune.File{Name: "a.go", Src: []byte("// Package ours is.\npackage ours\n\nvar ours int\n")}, "cache")
	require.NoError(t, err)
	assert.Equal(t, "// Package ours is.\npackage cache\n\nvar ours int\n", string(got.Src))
}
