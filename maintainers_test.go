// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maintainersPage says what there is in the packages that run in a user's program.
const maintainersPage = "internal/README.md"

// isOfLibrary reports whether a package, one of those that mayImport knows, runs in a user's
// program, and not only in tests.
func isOfLibrary(folder string) bool {
	switch folder {
	case "", "factory":
		return true
	case "internal/testkit", "internal/testkit/checker", "internal/interleave", "internal/tap/taptest":
		return false
	default:
		return strings.HasPrefix(folder, "internal/")
	}
}

// checkedPackage is a package with the types of its sources.
type checkedPackage struct {
	*types.Package
	files []*ast.File
	info  *types.Info
}

// TestMaintainersPage: the tables and names of internal/README.md are those of the sources.
func TestMaintainersPage(t *testing.T) {
	text, err := os.ReadFile(maintainersPage)
	require.NoError(t, err)
	packages := checkPackages(t)
	var locks, starts, names []string
	for _, pkg := range packages {
		names = append(names, pkg.Name())
		locks = append(locks, pkg.locks(t)...)
		starts = append(starts, pkg.starts()...)
	}
	require.Greater(t, len(locks), 20, "this test finds locks")
	require.Greater(t, len(starts), 15, "this test finds goroutines")
	t.Run("locks", func(t *testing.T) {
		assert.ElementsMatch(t, locks, namesInColumn(t, text, "Locks", 1))
	})
	t.Run("goroutines", func(t *testing.T) {
		assert.ElementsMatch(t, starts, namesInColumn(t, text, "Goroutines", 0))
	})
	t.Run("packages", func(t *testing.T) { checkPackageTable(t, text) })
	t.Run("names", func(t *testing.T) {
		for _, name := range found(text, `\b((?:`+strings.Join(names, "|")+`)\.\w+(?:\.\w+)*)\b`) {
			assert.True(t, isDeclared(packages, name), "there is no %s", name)
		}
	})
}

// checkPackageTable compares the table of packages with the walls, and with the folders.
func checkPackageTable(t *testing.T, text []byte) {
	entries, err := os.ReadDir("internal")
	require.NoError(t, err)
	var want []string
	for _, entry := range entries {
		if entry.IsDir() {
			want = append(want, entry.Name())
		}
	}
	assert.ElementsMatch(t, want, namesInColumn(t, text, "Inside", 0))
	for _, row := range rowsUnder(t, text, "Inside") {
		var imports []string
		for _, imported := range found([]byte(row[2]), "`([\\w/]+)`") {
			switch imported {
			case "cachetest":
			case "cache":
				imported = ""
			default:
				imported = "internal/" + imported
			}
			imports = append(imports, imported)
		}
		folder := "internal/" + strings.Trim(row[0], "`")
		assert.ElementsMatch(t, mayImport[folder], imports, "what %s imports", folder)
	}
}

// rowsUnder returns the cells of the first table under a heading, without its head.
func rowsUnder(t *testing.T, text []byte, heading string) (rows [][]string) {
	t.Helper()
	_, section, ok := strings.Cut("\n"+string(text), "# "+heading+"\n")
	require.True(t, ok, "a heading %s", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, line := range found([]byte(section), `(?m)^\| (.*) \|$`) {
		rows = append(rows, regexp.MustCompile(` ?\| ?`).Split(line, -1))
	}
	require.Greater(t, len(rows), 2, "a table under %s", heading)
	return rows[2:]
}

// namesInColumn returns the names in a column of the table, each of which is a row of its own.
func namesInColumn(t *testing.T, text []byte, heading string, column int) (names []string) {
	t.Helper()
	for _, row := range rowsUnder(t, text, heading) {
		require.Regexp(t, "^`[\\w.]+`$", row[column], "%s: %q", heading, row)
		names = append(names, strings.Trim(row[column], "`"))
	}
	return names
}

// checkPackages reads the sources of the library with their types.
func checkPackages(t *testing.T) (packages []checkedPackage) {
	t.Helper()
	var paths []string
	for _, folder := range slices.Sorted(maps.Keys(mayImport)) {
		if isOfLibrary(folder) {
			paths = append(paths, path.Join(modulePath, folder))
		}
	}
	listed, files := listPackages(t, paths), token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(listed[path].Export) })
	for _, path := range paths {
		pkg := checkedPackage{info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range listed[path].GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(listed[path].Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			pkg.files = append(pkg.files, file)
		}
		var err error
		pkg.Package, err = (&types.Config{Importer: imports}).Check(path, files, pkg.files, pkg.info)
		require.NoError(t, err)
		packages = append(packages, pkg)
	}
	return packages
}

// locks returns the mutexes and onces of the package: package.Type.field, or package.variable. A
// lock in a function has no name, and fails the test.
func (p checkedPackage) locks(t *testing.T) (names []string) {
	known := map[types.Object]bool{}
	for _, name := range p.Scope().Names() {
		switch object := p.Scope().Lookup(name).(type) {
		case *types.Var:
			names = append(names, locksIn(p.Name()+"."+name, object, object.Type(), known)...)
		case *types.TypeName:
			if fields, ok := object.Type().Underlying().(*types.Struct); ok && !object.IsAlias() {
				names = append(names, locksIn(p.Name()+"."+name, object, fields, known)...)
			}
		}
	}
	for identifier, object := range p.info.Defs {
		if v, ok := object.(*types.Var); ok && isLock(v.Type()) {
			assert.True(t, known[v], "%s: a lock %s that is no field of a named type", p.Path(), identifier.Name)
		}
	}
	return names
}

// locksIn returns the locks in a variable or field, also those in fields of it that have no named
// type. One that embeds a lock is that lock.
func locksIn(name string, object types.Object, typ types.Type, known map[types.Object]bool) (names []string) {
	if isLock(typ) {
		known[object] = true
		return []string{name}
	}
	fields, ok := typ.(*types.Struct)
	if !ok {
		return nil
	}
	for field := range fields.Fields() {
		of := name + "." + field.Name()
		if field.Embedded() {
			of = name
		}
		names = append(names, locksIn(of, field, field.Type(), known)...)
	}
	return names
}

func isLock(typ types.Type) bool {
	switch types.TypeString(typ, nil) {
	case "sync.Mutex", "sync.RWMutex", "sync.Once":
		return true
	}
	return false
}

// starters are the functions that have another one run in a goroutine that they start, or that a
// timer, a context or the garbage collector does.
var starters = []string{
	"(*sync.WaitGroup).Go", "time.AfterFunc", "context.AfterFunc", "runtime.AddCleanup", "runtime.SetFinalizer",
	"(*k8s.io/apimachinery/pkg/util/wait.Group).Start",
	"(*k8s.io/apimachinery/pkg/util/wait.Group).StartWithChannel",
	"(*k8s.io/apimachinery/pkg/util/wait.Group).StartWithContext",
	"(k8s.io/utils/clock.WithDelayedExecution).AfterFunc", "(*golang.org/x/sync/errgroup.Group).Go",
}

// starts returns for each start of a goroutine the function it is in: package.Type.Method, or
// package.function.
func (p checkedPackage) starts() (names []string) {
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(node ast.Node) bool {
				if p.isStart(node) {
					names = append(names, p.nameOf(function))
				}
				return true
			})
		}
	}
	return names
}

func (p checkedPackage) isStart(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		return true
	case *ast.SelectorExpr:
		function, ok := p.info.Uses[node.Sel].(*types.Func)
		return ok && slices.Contains(starters, function.FullName())
	}
	return false
}

func (p checkedPackage) nameOf(function *ast.FuncDecl) string {
	name := p.Name() + "."
	if function.Recv != nil {
		receiver := p.info.Defs[function.Name].(*types.Func).Signature().Recv().Type()
		if pointer, ok := receiver.(*types.Pointer); ok {
			receiver = pointer.Elem()
		}
		name += receiver.(*types.Named).Obj().Name() + "."
	}
	return name + function.Name.Name
}

// isDeclared reports whether there is a package.Name, package.Type.Member or
// package.Type.field.field.
func isDeclared(packages []checkedPackage, name string) bool {
	parts := strings.Split(name, ".")
	i := slices.IndexFunc(packages, func(p checkedPackage) bool { return p.Name() == parts[0] })
	if i < 0 {
		return false
	}
	object := packages[i].Scope().Lookup(parts[1])
	for _, member := range parts[2:] {
		if object == nil {
			return false
		}
		object, _, _ = types.LookupFieldOrMethod(object.Type(), true, packages[i].Package, member)
	}
	return object != nil
}
