// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// theirSource is a package with one name of each sort; ourSource is one that stands in for it
// without a fault, with an engine of its own for Queue and Option.
const (
	theirSource = `package cache

type Kind string

const Added Kind = "added"

var Closed error

type Object interface{ comparable; GetName() string }

type Store interface{ Get(key string) any }

type Deleted[T Object] struct{ Last T }

type Queue struct{ Depth int; queue []any }

func (q *Queue) Pop(process func(any) error) error { return nil }
func (q Queue) Name() string { return "" }
func (q *Queue) hidden() {}

type store struct{}

type Option = func(*store)

type Index struct{ Byte byte }

func Key(obj any) (string, error) { return "", nil }
func NewQueue(s Store, sized chan<- *Queue) *Queue { return nil }
func NewStore(opts ...Option) Store { return nil }
func Last[T Object](d Deleted[T]) T { return d.Last }

// Old was there first.
//
// Deprecated: use Key.
func Old() {}
`
	ourSource = `package cache

import theirs "theirs"

type (
	Kind              = theirs.Kind
	Object            = theirs.Object
	Store             = theirs.Store
	Deleted[T Object] = theirs.Deleted[T]
	Index             = theirs.Index
)

const Added = theirs.Added

var Closed = theirs.Closed

type Queue struct{ Depth int; ring []any }

func (q *Queue) Pop(process func(any) error) error { return nil }
func (q Queue) Name() string { return "" }

type table struct{}

type Option = func(*table)

func Key(obj any) (string, error) { return theirs.Key(obj) }
func NewQueue(s Store, sized chan<- *Queue) *Queue { return nil }
func NewStore(opts ...Option) Store { return nil }
func Last[T Object](d Deleted[T]) T { return theirs.Last(d) }

// Old will go.
//
// Deprecated: use Key.
func Old() { theirs.Old() }
`
)

// importMap imports packages that were checked before.
type importMap map[string]*types.Package

func (m importMap) Import(path string) (*types.Package, error) { return m[path], nil }

func checkSource(t *testing.T, path, source string, imports importMap) surface {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path+".go", source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	pkg, err := (&types.Config{Importer: imports}).Check(path, files, []*ast.File{file}, nil)
	require.NoError(t, err)
	return surface{pkg: pkg, deprecated: deprecatedNames([]*ast.File{file})}
}

// edit replaces a piece of a source, which must be there once.
type edit struct{ old, new string }

func (e edit) apply(t *testing.T, source string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(source, e.old), "occurrences of %q", e.old)
	return strings.Replace(source, e.old, e.new, 1)
}

// surfaceCase is one change of our source and what the comparison says of it. The types Option and
// Queue differ always.
type surfaceCase struct {
	edit edit
	want surfaceReport
}

// broken is a case whose one consequence is a fault.
func broken(old, new, fault string) surfaceCase {
	return surfaceCase{edit{old, new}, surfaceReport{different: []string{"Option", "Queue"}, faults: []string{fault}}}
}

// differing is a case whose one consequence is one more type that is not theirs.
func differing(old, new string, different ...string) surfaceCase {
	return surfaceCase{edit{old, new}, surfaceReport{different: different}}
}

// uneven is a case whose one consequence is that one side has names that the other lacks.
func uneven(old, new string, missing, extra []string) surfaceCase {
	return surfaceCase{edit{old, new}, surfaceReport{different: []string{"Option", "Queue"}, missing: missing, extra: extra}}
}

func unevenCases() map[string]surfaceCase {
	const added, table = "const Added = theirs.Added", "type table struct{}"
	return map[string]surfaceCase{
		"nothing wrong":       uneven(added, added, nil, nil),
		"a missing name":      uneven(added, "", []string{"Added"}, nil),
		"a name of our own":   uneven(table, table+"; func Extra() {}", nil, []string{"Extra"}),
		"a method of our own": uneven(table, table+"; func (q *Queue) Len() int { return 0 }", nil, []string{"Queue.Len"}),
	}
}

func funcCases() map[string]surfaceCase {
	const (
		key  = "func Key(obj any) (string, error) { return theirs.Key(obj) }"
		last = "func Last[T Object](d Deleted[T]) T { return theirs.Last(d) }"
		old  = "func Old() { theirs.Old() }"
	)
	return map[string]surfaceCase{
		"another parameter": broken(key, "func Key(obj string) (string, error) { return theirs.Key(obj) }",
			"Key: has the type func(obj string) (string, error), theirs has func(obj any) (string, error)"),
		"another result": broken(old, "func Old() error { theirs.Old(); return nil }",
			"Old: has the type func() error, theirs has func()"),
		"a list for variadic": broken("opts ...Option", "opts []Option",
			"NewStore: has the type func(opts []ours.Option) ours.Store, theirs has func(opts ...theirs.Option) theirs.Store"),
		"another constraint": broken(last, "func Last[T interface{ Object; Len() int }](d Deleted[T]) (t T) { return t }",
			"Last: has the type func[T interface{Len() int; ours.Object}](d ours.Deleted[T]) (t T), "+
				"theirs has func[T theirs.Object](d theirs.Deleted[T]) T"),
		"a var instead of a func": broken(key, "var Key = theirs.Key", "Key: is a var, theirs is a func"),
		"a lost deprecation": broken("// Deprecated: use Key.", "// Use Key.",
			"Old: marked deprecated: false, theirs: true"),
	}
}

func valueCases() map[string]surfaceCase {
	const added, closed = "const Added = theirs.Added", "var Closed = theirs.Closed"
	return map[string]surfaceCase{
		"a var instead of a const": broken(added, "var Added = theirs.Added", "Added: is a var, theirs is a const"),
		"another const value": broken(added, `const Added Kind = "ADDED"`,
			`Added: has the value "ADDED", theirs has "added"`),
		"a const without its type": broken(added, `const Added = "added"`,
			"Added: has the type untyped string, theirs has theirs.Kind"),
		"a var of another type": broken(closed, "var Closed any = theirs.Closed",
			"Closed: has the type any, theirs has error"),
	}
}

func typeCases() map[string]surfaceCase {
	const (
		pop    = "func (q *Queue) Pop(process func(any) error) error { return nil }"
		name   = `func (q Queue) Name() string { return "" }`
		option = "type Option = func(*table)"
	)
	return map[string]surfaceCase{
		"a lost method": broken(pop, "", "Queue.Pop: is missing"),
		"a method with another signature": broken(pop, "func (q *Queue) Pop() error { return nil }",
			"Queue.Pop: has the type func() error, theirs has func(process func(any) error) error"),
		"a method that needs a pointer": broken(name, `func (q *Queue) Name() string { return "" }`,
			"Queue.Name: has a pointer receiver, theirs has a value"),
		"a deprecated method": broken(pop, "// Pop pops.\n//\n// Deprecated: for no reason.\n"+pop,
			"Queue.Pop: marked deprecated: true, theirs: false"),
		"a deprecated type": broken(option, "// Deprecated: for no reason.\n"+option,
			"Option: marked deprecated: true, theirs: false"),
		"a lost field": broken("Depth int; ring []any", "ring []any", "Queue.Depth: is missing"),
		"an own type that is no struct": broken("type Queue struct{ Depth int; ring []any }", "type Queue []any",
			"Queue: is slice, theirs is struct"),
		"a type of our own where theirs is needed": differing("Index             = theirs.Index",
			"Index struct{ Byte byte }", "Index", "Option", "Queue"),
		"a generic alias under another constraint": differing("Deleted[T Object] = theirs.Deleted[T]",
			"Deleted[T interface{ Object; comparable }] = theirs.Deleted[T]", "Deleted", "Option", "Queue"),
	}
}

func TestCompareSurfaces(t *testing.T) {
	own := func(name string) bool { return name == "Queue" || name == "Option" }
	for _, cases := range []map[string]surfaceCase{unevenCases(), funcCases(), valueCases(), typeCases()} {
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				theirs := checkSource(t, "theirs", theirSource, nil)
				ours := checkSource(t, "ours", tc.edit.apply(t, ourSource), importMap{"theirs": theirs.pkg})
				assert.Equal(t, tc.want, compareSurfaces(theirs, ours, own))
			})
		}
	}
}

// TestCompareSurfacesTrustsTheListOnly shows that our type stands for theirs in a signature only if
// it is listed.
func TestCompareSurfacesTrustsTheListOnly(t *testing.T) {
	theirs := checkSource(t, "theirs", theirSource, nil)
	ours := checkSource(t, "ours", ourSource, importMap{"theirs": theirs.pkg})
	report := compareSurfaces(theirs, ours, func(name string) bool { return name == "Option" })
	assert.Equal(t, []string{
		"NewQueue: has the type func(s ours.Store, sized chan<- *ours.Queue) *ours.Queue, " +
			"theirs has func(s theirs.Store, sized chan<- *theirs.Queue) *theirs.Queue",
	}, report.faults)
}
