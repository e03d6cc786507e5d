// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// world imports packages from their source.
type world map[string]string

func (w world) Import(path string) (*types.Package, error) {
	src, ok := w[path]
	if !ok {
		return nil, fmt.Errorf("there is no package %s", path)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path+".go", src, 0)
	if err != nil {
		return nil, err
	}
	return (&types.Config{}).Check(path, fset, []*ast.File{f}, nil)
}

// outside is what the pruned tests see: a package with exported names only.
var outside = world{
	"testing": "package testing; type T struct{}; func (*T) Fatal(...any) {}; type M struct{}",
	"lib": `package lib
		type Store interface{ Len() int }
		type hidden struct{ items int }
		func (h *hidden) Len() int { return h.items }
		func (h *hidden) secret() {}
		func New() Store { return &hidden{} }
		type Options struct{ Name string; inner int }
		type Error struct{}`,
	"other": "package other; func Use() {}",
}

// pruneText prunes one file that dot-imports lib and imports testing.
func pruneText(t *testing.T, body string, without ...string) (Result, string) {
	t.Helper()
	src := "package p; import . \"lib\"\nimport \"testing\"\nvar _ *testing.T\nvar _ Store\n" + body
	r, err := Prune("p", []File{{Name: "a_test.go", Src: []byte(src)}}, nil, without, outside)
	require.NoError(t, err)
	return r, string(r.Files[0].Src)
}

func TestKeepsWhatUsesExportedNamesOnly(t *testing.T) {
	r, text := pruneText(t, `
func helper(s Store) int { return s.Len() }
func TestLen(t *testing.T) { if helper(New()) != 0 { t.Fatal() } }
func TestOptions(t *testing.T) { _ = Options{Name: "a"} }`)

	assert.Equal(t, []string{"TestLen", "TestOptions"}, r.Tests)
	assert.Empty(t, r.Drops)
	assert.Contains(t, text, "func helper")
}

func TestNamesTheFirstUnexportedName(t *testing.T) {
	for _, c := range []struct{ why, body, cause string }{
		{"a function", "newHidden()", "newHidden"},
		{"a type", "_ = hidden{}", "hidden"},
		{"an asserted type", "_ = New().(*hidden)", "hidden"},
		{"a method of an interface", "New().secret()", "secret"},
		{"a field in a literal", "_ = Options{inner: 1}", "inner"},
		{"a field of a value", "var o Options; _ = o.inner", "inner"},
		{"the first of two", "_ = one; _ = two", "one"},
		{"an unexported one, even after an exported one", "_ = Gone; _ = lower", "lower"},
		{"an exported one if there is no other", "_ = Gone", "Gone"},
	} {
		t.Run(c.why, func(t *testing.T) {
			r, _ := pruneText(t, "func TestX(t *testing.T) { "+c.body+" }\nfunc TestY(t *testing.T) {}")
			assert.Equal(t, []string{"TestY"}, r.Tests)
			require.Len(t, r.Drops, 1)
			d := r.Drops[0]
			assert.Equal(t, "TestX", d.Name)
			assert.Equal(t, c.cause, d.Cause)
			assert.True(t, d.Test)
			assert.Empty(t, d.Via)
			assert.Equal(t, 5, d.Line)
			assert.NotEmpty(t, d.Message)
		})
	}
}

func TestFollowsHelpersToTheCause(t *testing.T) {
	r, _ := pruneText(t, `
func inner() { _ = hiddenThing }
func outer() { inner() }
func TestDeep(t *testing.T) { outer() }
func TestFlat(t *testing.T) {}`)

	assert.Equal(t, []string{"TestFlat"}, r.Tests)
	require.Len(t, r.Drops, 3)
	deep := r.Drops[2]
	assert.Equal(t, "TestDeep", deep.Name)
	assert.Equal(t, "hiddenThing", deep.Cause)
	assert.Equal(t, []string{"outer", "inner"}, deep.Via)
}

func TestMethodsGoWithTheirType(t *testing.T) {
	r, text := pruneText(t, `
type fake struct{ h *hidden }
func (f *fake) Len() int { return 0 }
type generic[T any] struct{ h *hidden; t T }
func (g generic[T]) get() T { return g.t }
func TestFake(t *testing.T) { _ = (&fake{}).Len() }`)

	assert.Empty(t, r.Tests)
	var names []string
	for _, d := range r.Drops {
		names = append(names, d.Name)
	}
	assert.ElementsMatch(t, []string{"fake", "fake.Len", "generic", "generic.get", "TestFake"}, names)
	assert.NotContains(t, text, "fake")
}

func TestMethodsOnAForeignTypeAreDropped(t *testing.T) {
	r, _ := pruneText(t, "func (e Error) Error() string { return \"\" }\nfunc TestE(t *testing.T) { _ = Error{}.Error() }")

	require.Len(t, r.Drops, 2)
	assert.Equal(t, "Error.Error", r.Drops[0].Name)
	assert.Equal(t, "TestE", r.Drops[1].Name)
}

func TestRemovesImportsThatBecameUnused(t *testing.T) {
	src := `package p

import (
	"lib"
	"other"
	"testing"
)

func TestKept(t *testing.T) { _ = lib.New() }

func TestGone(t *testing.T) { other.Use(); nowhere() }
`
	r, err := Prune("p", []File{{Name: "a_test.go", Src: []byte(src)}}, nil, nil, outside)
	require.NoError(t, err)
	text := string(r.Files[0].Src)
	assert.NotContains(t, text, `"other"`)
	assert.Contains(t, text, `"lib"`)
	assert.Len(t, r.Drops, 1, "an import is no drop")
}

func TestRemovesADotImportOfAFileThatIsLeftWithoutUses(t *testing.T) {
	files := []File{
		{Name: "a_test.go", Src: []byte("package p; import . \"lib\"\nimport \"testing\"\nfunc TestA(t *testing.T) { _ = nowhere; _ = New }\n")},
		{Name: "b_test.go", Src: []byte("package p; import . \"lib\"\nimport \"testing\"\nfunc TestB(t *testing.T) { _ = New }\n")},
	}
	r, err := Prune("p", files, nil, nil, outside)
	require.NoError(t, err)
	assert.Equal(t, []string{"TestB"}, r.Tests)
	assert.NotContains(t, string(r.Files[0].Src), "import")
	assert.Contains(t, string(r.Files[1].Src), `import . "lib"`)
}

func TestAnImportThatCannotBeHadTakesItsUsersWithIt(t *testing.T) {
	src := "package p\nimport \"testing\"\nimport \"absent\"\nfunc TestA(t *testing.T) { absent.Do() }\nfunc TestB(t *testing.T) {}\n"
	r, err := Prune("p", []File{{Name: "a_test.go", Src: []byte(src)}}, nil, nil, outside)
	require.NoError(t, err)
	assert.Equal(t, []string{"TestB"}, r.Tests)
}

func TestKeepsEveryLineInItsPlace(t *testing.T) {
	body := "\nfunc gone() {\n\t_ = hiddenThing\n}\n\nfunc TestKept(t *testing.T) {\n}\n"
	_, text := pruneText(t, body)
	whole := "package p; import . \"lib\"\nimport \"testing\"\nvar _ *testing.T\nvar _ Store\n" + body
	line := func(s string) int { return strings.Count(s[:strings.Index(s, "func TestKept")], "\n") }
	assert.Equal(t, line(whole), line(text))
}

func TestConstantsGoAsAGroup(t *testing.T) {
	r, text := pruneText(t, `
const (
	a = iota
	b = hiddenConst
	c
)
var (
	v = hiddenVar
	w = 1
)
func TestC(t *testing.T) { _ = c }
func TestW(t *testing.T) { _ = w }`)

	assert.Equal(t, []string{"TestW"}, r.Tests)
	assert.NotContains(t, text, "iota", "the value of c would have changed")
	assert.Contains(t, text, "w = 1")
}

func TestReplacedDeclarationsAreNoDrops(t *testing.T) {
	src := "package p\nimport \"testing\"\nfunc peek() int { return hiddenThing }\nfunc TestPeek(t *testing.T) { _ = peek() }\n"
	shim := File{Name: "shim_test.go", Src: []byte("package p\nfunc peek() int { return 1 }\n")}
	files := []File{{Name: "a_test.go", Src: []byte(src)}}

	r, err := Prune("p", files, []File{shim}, []string{"peek"}, outside)
	require.NoError(t, err)
	assert.Equal(t, []string{"TestPeek"}, r.Tests)
	assert.Empty(t, r.Drops)
	assert.Len(t, r.Files, 1, "a shim is no result")
	assert.True(t, bytes.Equal([]byte(src), files[0].Src), "the input belongs to the caller")
}

func TestAFaultyShimIsAnError(t *testing.T) {
	shim := File{Name: "shim_test.go", Src: []byte("package p\nfunc peek() int { return absent }\n")}
	_, err := Prune("p", []File{{Name: "a_test.go", Src: []byte("package p\n")}}, []File{shim}, nil, outside)
	require.ErrorContains(t, err, "absent")
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	_, err := Prune("p", []File{{Name: "a_test.go", Src: []byte("package p\nfunc {")}}, nil, nil, outside)
	require.ErrorContains(t, err, "a_test.go")
}

func TestWhatGoTestRuns(t *testing.T) {
	src := `package p
import "testing"
func Test(t *testing.T) {}
func TestA(t *testing.T) {}
func Test_b(t *testing.T) {}
func Testing(t *testing.T) {}
func TestMain(m *testing.M) {}
func TestTwo(t *testing.T, n int) {}
func TestGeneric[T any](t *testing.T) {}
func (x *int) TestMethod(t *testing.T) {}
func BenchmarkA(t *testing.T) {}
`
	names, err := TestsIn([]File{{Name: "a_test.go", Src: []byte(src)}})
	require.NoError(t, err)
	assert.Equal(t, []string{"Test", "TestA", "Test_b"}, names)
}

func TestApplyKeepsLineBreaks(t *testing.T) {
	got := Apply([]byte("ab\ncd\nef"), []Edit{{Start: 7, End: 8, Text: "F"}, {Start: 1, End: 4, Text: "-"}, {Start: 0, End: 0, Text: "x"}})
	assert.Equal(t, "xa-\nd\neF", string(got))
}
