// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/tools/cache/synctrack"
	_ "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/minor"
	_ "github.com/kinformer/cache/synctrack"
	_ "github.com/kinformer/cache/testing"
)

const theirModule = "k8s.io/client-go/tools/cache"

// TestSurface: this package and its mirrors export the names of client-go, at the version in
// go.mod, and no others. different.txt lists the types that this module declares itself, next.txt the
// names of the next minor that this module has already, and every line of both must be true. In the tree of an earlier minor, package minor declares types, too.
func TestSurface(t *testing.T) {
	listed, next := readNameList(t, "testdata/surface/different.txt"), readNameList(t, "testdata/surface/next.txt")
	assert.Empty(t, append(listed.withoutReason, next.withoutReason...))
	c := &comparison{own: listed.names, next: next.names}
	if minor.Own {
		c.minor = exportedOf(t, "internal/minor")
	}
	folders := []string{"", "/synctrack", "/testing"}
	var paths []string
	for _, folder := range folders {
		paths = append(paths, theirModule+folder, modulePath+folder)
	}
	surfaces := loadSurfaces(t, paths...)
	for _, folder := range folders {
		c.theirs, c.ours = surfaces[theirModule+folder], surfaces[modulePath+folder]
		require.Equal(t, c.theirs.pkg.Name(), c.ours.pkg.Name())
		c.prefix = c.theirs.pkg.Name() + "."
		c.compare()
	}
	for _, name := range listed.names {
		assert.Contains(t, c.different, name, "it is no type of our own: take it off different.txt")
	}
	assert.Subset(t, c.ahead, next.names, "they are no names that only we have: take them off next.txt")
	for _, fault := range slices.Sorted(slices.Values(c.faults)) {
		t.Error(fault)
	}
}

// nameList is a file with one name per line, followed by a reason. Lines that start with # are
// comments.
type nameList struct{ names, withoutReason []string }

func readNameList(t *testing.T, path string) (list nameList) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		list.names = append(list.names, words[0])
		if len(words) == 1 {
			list.withoutReason = append(list.withoutReason, words[0])
		}
	}
	return list
}

// surface is the exported names of a package, and which of them (or of their methods,
// "Type.Method") are marked deprecated.
type surface struct {
	pkg        *types.Package
	deprecated map[string]bool
}

// comparison compares our packages with client-go's, one after the other. Names have their package. A
// type of ours in own counts as client-go's type of the same name.
type comparison struct {
	theirs, ours surface
	prefix       string // the name of both packages, with a dot
	own          []string
	minor        []string // names that package minor declares
	next         []string // names of the next minor of client-go that we have already

	ahead     []string // those of next that client-go lacks
	different []string // names of types that differ
	faults    []string // differences that break a user's code, or change its meaning
}

func (c *comparison) compare() {
	for _, name := range exportedNames(c.theirs.pkg) {
		if our := c.ours.pkg.Scope().Lookup(name); our == nil {
			c.faultf(name, "is missing")
		} else {
			c.compareObject(c.theirs.pkg.Scope().Lookup(name), our)
		}
	}
	for _, name := range exportedNames(c.ours.pkg) {
		if c.theirs.pkg.Scope().Lookup(name) == nil {
			c.extra(name)
		}
	}
}

func (c *comparison) faultf(name, format string, args ...any) {
	c.faults = append(c.faults, c.prefix+name+": "+fmt.Sprintf(format, args...))
}

// extra reports a name that only we have, "Type.Member" for a member that only our type has.
func (c *comparison) extra(name string) {
	switch {
	case slices.Contains(c.next, c.prefix+name):
		c.ahead = append(c.ahead, c.prefix+name)
	case !slices.Contains(c.minor, strings.Replace(c.prefix+name, "cache.", "minor.", 1)):
		c.faultf(name, "is no name of client-go: its place is in a package beside this one")
	}
}

func (c *comparison) compareObject(their, our types.Object) {
	name := their.Name()
	c.compareDeprecated(name)
	if kindOf(their) != kindOf(our) {
		c.faultf(name, "is a %s, theirs is a %s", kindOf(our), kindOf(their))
		return
	}
	switch their := their.(type) {
	case *types.Const:
		c.compareConst(their, our.(*types.Const))
	case *types.TypeName:
		c.compareType(their, our.(*types.TypeName))
	default:
		c.compareUse(name, their.Type(), our.Type())
	}
}

func (c *comparison) compareConst(their, our *types.Const) {
	if !constant.Compare(their.Val(), token.EQL, our.Val()) {
		c.faultf(their.Name(), "has the value %s, theirs has %s", our.Val(), their.Val())
	}
	c.compareUse(their.Name(), their.Type(), our.Type())
}

func (c *comparison) compareUse(name string, their, our types.Type) {
	if !c.same(their, our) {
		c.faultf(name, "has the type %s, theirs has %s", our, their)
	}
}

func (c *comparison) compareDeprecated(name string) {
	if their, our := c.theirs.deprecated[name], c.ours.deprecated[name]; their != our {
		c.faultf(name, "marked deprecated: %t, theirs: %t", our, their)
	}
}

// compareType reports two types of one name as different. Ours must still be usable for
// client-go's: the same kind of type, and each exported field and method.
func (c *comparison) compareType(their, our *types.TypeName) {
	if identicalTypes(their.Type(), our.Type()) {
		return
	}
	name := their.Name()
	c.different = append(c.different, c.prefix+name)
	if !slices.Contains(c.own, c.prefix+name) {
		c.faultf(name, "is another type than theirs, and not listed in different.txt")
	}
	if t, o := shapeOf(their.Type()), shapeOf(our.Type()); t != o {
		c.faultf(name, "is %s, theirs is %s", o, t)
		return
	}
	c.compareMembers(name, membersOf(their.Type()), membersOf(our.Type()))
	c.compareReceivers(name, their.Type(), our.Type())
}

func (c *comparison) compareMembers(owner string, theirs, ours map[string]types.Type) {
	for member, their := range theirs {
		name := owner + "." + member
		our, ok := ours[member]
		if !ok {
			c.faultf(name, "is missing")
			continue
		}
		c.compareUse(name, their, our)
		c.compareDeprecated(name)
	}
	for member := range ours {
		if _, ok := theirs[member]; !ok {
			c.extra(owner + "." + member)
		}
	}
}

// compareReceivers reports methods that a value of client-go's type has and only a pointer to ours.
func (c *comparison) compareReceivers(owner string, their, our types.Type) {
	values := types.NewMethodSet(our)
	for method := range types.NewMethodSet(their).Methods() {
		if obj := method.Obj(); obj.Exported() && values.Lookup(c.ours.pkg, obj.Name()) == nil {
			c.faultf(owner+"."+obj.Name(), "has a pointer receiver, theirs has a value")
		}
	}
}

// same reports whether two types are identical, if our types in own count as client-go's at any
// depth.
func (c *comparison) same(their, our types.Type) bool {
	if c.substitutes(their, our) {
		return true
	}
	their, our = types.Unalias(their), types.Unalias(our)
	theirText, theirParts := partsOf(their)
	ourText, ourParts := partsOf(our)
	if theirText == "" {
		return types.Identical(their, our)
	}
	return (theirText == ourText || c.substitutes(their, our)) && slices.EqualFunc(theirParts, ourParts, c.same)
}

// partsOf returns a text and the parts of a type. Types are identical if they have the same text and
// identical parts. The text is empty if a type is only compared as a whole.
func partsOf(t types.Type) (text string, parts []types.Type) {
	switch t := t.(type) {
	case *types.Named:
		return t.Origin().String(), slices.Collect(t.TypeArgs().Types())
	case *types.TypeParam:
		return fmt.Sprint("parameter ", t.Index()), nil
	case *types.Pointer:
		return "pointer", []types.Type{t.Elem()}
	case *types.Slice:
		return "slice", []types.Type{t.Elem()}
	case *types.Map:
		return "map", []types.Type{t.Key(), t.Elem()}
	case *types.Chan:
		return fmt.Sprint("channel ", t.Dir()), []types.Type{t.Elem()}
	case *types.Signature:
		for param := range t.TypeParams().TypeParams() {
			parts = append(parts, param.Constraint())
		}
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				parts = append(parts, v.Type())
			}
		}
		return fmt.Sprint("function ", t.Variadic(), t.TypeParams().Len(), t.Params().Len(), t.Results().Len()), parts
	}
	return "", nil
}

// substitutes reports whether our is a type in own and their its counterpart, alias or not.
func (c *comparison) substitutes(their, our types.Type) bool {
	t, o := typeName(their), typeName(our)
	return t != nil && o != nil && t.Name() == o.Name() && t.Pkg() == c.theirs.pkg && o.Pkg() == c.ours.pkg &&
		slices.Contains(c.own, c.prefix+t.Name())
}

// identicalTypes reports whether our is their, or an alias of it. An alias of a generic type must
// pass its parameters on one by one, with the same constraints.
func identicalTypes(their, our types.Type) bool {
	alias, ok := our.(*types.Alias)
	if !ok || alias.TypeParams().Len() == 0 {
		return types.Identical(their, our)
	}
	theirNamed, ok := their.(*types.Named)
	ourNamed, okOurs := types.Unalias(our).(*types.Named)
	if !ok || !okOurs || theirNamed.Origin() != ourNamed.Origin() || alias.TypeParams().Len() != ourNamed.TypeArgs().Len() {
		return false
	}
	for i := range alias.TypeParams().Len() {
		param := alias.TypeParams().At(i)
		if ourNamed.TypeArgs().At(i) != param ||
			!types.Identical(param.Constraint(), theirNamed.TypeParams().At(i).Constraint()) {
			return false
		}
	}
	return true
}

func exportedNames(pkg *types.Package) []string {
	return slices.DeleteFunc(pkg.Scope().Names(), func(name string) bool { return !token.IsExported(name) })
}

// kindOf returns the kind of an object or a type of package types, such as "func" or "slice".
func kindOf(of any) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", of), "*types."))
}

// shapeOf returns the kind of a type, on which composite literals, calls and type parameters
// depend.
func shapeOf(t types.Type) string {
	shape := kindOf(t.Underlying())
	if generic, ok := t.(interface{ TypeParams() *types.TypeParamList }); ok && generic.TypeParams().Len() > 0 {
		return fmt.Sprintf("%s of %d types", shape, generic.TypeParams().Len())
	}
	return shape
}

// membersOf returns the exported fields of t, and the exported methods of a pointer to t, or of t if t is
// an interface.
func membersOf(t types.Type) map[string]types.Type {
	members := map[string]types.Type{}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			if field.Exported() {
				members[field.Name()] = field.Type()
			}
		}
	}
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for method := range types.NewMethodSet(t).Methods() {
		if method.Obj().Exported() {
			members[method.Obj().Name()] = method.Type()
		}
	}
	return members
}

func typeName(t types.Type) *types.TypeName {
	if named, ok := t.(interface{ Obj() *types.TypeName }); ok {
		return named.Obj()
	}
	return nil
}

// listedPackage is the go command's description of a package. Export is the file with its compiled
// types.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loadSurfaces reads the surfaces of packages, and of their imports, from the go command's build
// cache. Types that two of them share are identical. It needs no network, because everything was
// compiled for this test.
func loadSurfaces(t *testing.T, paths ...string) map[string]surface {
	t.Helper()
	listed := listPackages(t, paths)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(listed[path].Export)
	})
	surfaces := make(map[string]surface, len(paths))
	for _, path := range paths {
		pkg, err := imports.Import(path)
		require.NoError(t, err)
		surfaces[path] = surface{pkg: pkg, deprecated: deprecatedNames(t, listed[path])}
	}
	return surfaces
}

// pathsOf returns the import paths of packages of this module.
func pathsOf(folders ...string) (paths []string) {
	for _, folder := range folders {
		paths = append(paths, path.Join(modulePath, folder))
	}
	return paths
}

// exportedOf returns the exported names of packages of this module, each with its package.
func exportedOf(t *testing.T, folders ...string) (names []string) {
	t.Helper()
	for _, loaded := range loadSurfaces(t, pathsOf(folders...)...) {
		for _, name := range exportedNames(loaded.pkg) {
			names = append(names, loaded.pkg.Name()+"."+name)
		}
	}
	return names
}

func listPackages(t *testing.T, paths []string) map[string]listedPackage {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, buildFlags()...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, paths...)...)
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())

	listed := map[string]listedPackage{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg listedPackage
		err := decoder.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return listed
		}
		require.NoError(t, err)
		listed[pkg.ImportPath] = pkg
	}
}

// buildFlags returns the flags of this test's build that are part of the build cache's keys. With
// them the go command finds the packages that were compiled for this test and compiles nothing.
func buildFlags() (flags []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "-race", "-msan", "-asan", "-tags":
			flags = append(flags, setting.Key+"="+setting.Value)
		}
	}
	return flags
}

func parseFile(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}

// deprecatedNames returns the exported names of a package, "Type.Method" for methods, whose comment
// deprecates them.
func deprecatedNames(t *testing.T, listed listedPackage) map[string]bool {
	t.Helper()
	deprecated := map[string]bool{}
	for _, file := range listed.GoFiles {
		for name, docs := range documentedNames(parseFile(t, filepath.Join(listed.Dir, file))) {
			if slices.ContainsFunc(docs, isDeprecated) {
				deprecated[name] = true
			}
		}
	}
	return deprecated
}

// documentedNames returns the exported names that a file declares, each with its own comment and
// then the comment of its group, if it is in one.
func documentedNames(file *ast.File) map[string][]*ast.CommentGroup {
	names := map[string][]*ast.CommentGroup{}
	add := func(name string, docs ...*ast.CommentGroup) {
		if token.IsExported(name) {
			names[name] = docs
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			add(funcName(decl), decl.Doc)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				own, specNames := docOf(spec)
				docs := []*ast.CommentGroup{own, decl.Doc}
				if !decl.Lparen.IsValid() {
					docs = docs[1:]
				}
				for _, name := range specNames {
					add(name, docs...)
				}
			}
		}
	}
	return names
}

// docOf returns the comment and the names of a type, constant or variable specification.
func docOf(spec ast.Spec) (doc *ast.CommentGroup, names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Doc, []string{spec.Name.Name}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			names = append(names, name.Name)
		}
		return spec.Doc, names
	}
	return nil, nil
}

// funcName returns a function's name, "Type.Method" for a method of an exported type, and "" for
// other methods.
func funcName(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return decl.Name.Name
	}
	receiver := decl.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if owner, ok := receiver.(*ast.Ident); ok && owner.IsExported() && decl.Name.IsExported() {
		return fmt.Sprintf("%s.%s", owner.Name, decl.Name.Name)
	}
	return ""
}

func isDeprecated(doc *ast.CommentGroup) bool {
	return strings.Contains("\n\n"+doc.Text(), "\n\nDeprecated: ")
}

// reachable returns the names of the methods that a type assertion can reach on a value.
func reachable(value any) (names []string) {
	t := reflect.TypeOf(value)
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// TestMethodsBehindInterfaces: exported values have the methods of their counterparts in client-go
// and no method of an engine, whatever interface a user asserts.
func TestMethodsBehindInterfaces(t *testing.T) {
	key := cache.MetaNamespaceKeyFunc
	ourStore, ourController := cache.NewInformerWithOptions(cache.InformerOptions{})
	_, theirController := clientgo.NewInformerWithOptions(clientgo.InformerOptions{})
	ourInformer, theirInformer := cache.NewSharedIndexInformer(nil, nil, 0, nil), clientgo.NewSharedIndexInformer(nil, nil, 0, nil)
	for name, c := range map[string]struct{ ours, theirs any }{
		"NewStore":                        {cache.NewStore(key), clientgo.NewStore(key)},
		"NewIndexer":                      {cache.NewIndexer(key, nil), clientgo.NewIndexer(key, nil)},
		"NewThreadSafeStore":              {cache.NewThreadSafeStore(nil, nil), clientgo.NewThreadSafeStore(nil, nil)},
		"store of an informer":            {ourStore, clientgo.NewStore(key)},
		"RealFIFO":                        {&cache.RealFIFO{}, &clientgo.RealFIFO{}},
		"DeltaFIFO":                       {&cache.DeltaFIFO{}, &clientgo.DeltaFIFO{}},
		"controller":                      {ourController, theirController},
		"controller of a shared informer": {ourInformer.GetController(), theirInformer.GetController()},
		"HasSyncedChecker of an informer": {ourInformer.HasSyncedChecker(), theirInformer.HasSyncedChecker()},
		"GetIndexer of a shared informer": {ourInformer.GetIndexer(), theirInformer.GetIndexer()},
	} {
		assert.ElementsMatch(t, reachable(c.theirs), reachable(c.ours), name)
	}
}

// besidePackages are the packages beside the root for users, without the mirrors of client-go's.
var besidePackages = []string{"audit", "cachetest", "debug", "direct", "factory", "inspect", "kinformer", "retry", "sources", "view"}

// TestNamesBeside: the packages beside the root have the names of beside.txt, each with a reason, and no
// more than they have now.
func TestNamesBeside(t *testing.T) {
	listed := readNameList(t, "testdata/surface/beside.txt")
	want := exportedOf(t, besidePackages...)
	assert.ElementsMatch(t, want, listed.names)
	assert.LessOrEqual(t, len(want), 175)
	assert.Empty(t, listed.withoutReason)
}

// implementedByUsers are the interfaces to which a later version cannot add methods.
var implementedByUsers = []string{"kinformer.ChangeHandler"}

// TestNamesCanGrow: a later version can add fields to structs and methods to interfaces without
// breaking users. This requires that the type of each struct field is named if it is a struct, and
// that interfaces cannot be implemented by users.
func TestNamesCanGrow(t *testing.T) {
	count := 0
	for name, typ := range ownTypes(t) {
		if strings.HasPrefix(name, "cache.") || slices.Contains(implementedByUsers, name) {
			continue
		}
		count++
		assert.Empty(t, cannotGrow(typ), name)
	}
	assert.Greater(t, count, 40, "this test finds types")
}

// ownTypes returns the exported types of this module's packages, without aliases.
func ownTypes(t *testing.T) map[string]types.Type {
	t.Helper()
	paths := pathsOf(append([]string{""}, besidePackages...)...)
	all := map[string]types.Type{}
	for _, loaded := range loadSurfaces(t, paths...) {
		scope := loaded.pkg.Scope()
		for _, name := range scope.Names() {
			if declared, ok := scope.Lookup(name).(*types.TypeName); ok && declared.Exported() && !declared.IsAlias() {
				all[loaded.pkg.Name()+"."+name] = declared.Type().Underlying()
			}
		}
	}
	return all
}

// cannotGrow returns the reasons for which a type cannot grow.
func cannotGrow(typ types.Type) (faults []string) {
	switch typ := typ.(type) {
	case *types.Struct:
		for field := range typ.Fields() {
			if field.Exported() && hasUnnamedStruct(field.Type()) {
				faults = append(faults, field.Name()+" is a struct without a name")
			}
		}
	case *types.Interface:
		sealed := false
		for method := range typ.Methods() {
			sealed = sealed || !method.Exported()
		}
		if !sealed {
			faults = append(faults, "it can be implemented elsewhere")
		}
	}
	return faults
}

func hasUnnamedStruct(typ types.Type) bool {
	switch typ := typ.(type) {
	case *types.Struct:
		return typ.NumFields() > 0
	case interface{ Elem() types.Type }:
		return hasUnnamedStruct(typ.Elem())
	}
	return false
}

// TestTypedReadsOfStructsDoNotCompile: stores hold pointers to API types, so a typed read with a
// forgotten asterisk would find nothing.
func TestTypedReadsOfStructsDoNotCompile(t *testing.T) {
	const core, meta, unstructured = "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	reads := path.Join(modulePath, "view")
	surfaces := loadSurfaces(t, reads, core, meta, unstructured)
	named := func(pkg, name string) types.Type { return surfaces[pkg].pkg.Scope().Lookup(name).Type() }
	for _, name := range []string{"TypedAll", "TypedByIndex", "TypedGet"} {
		signature, ok := named(reads, name).(*types.Signature)
		require.True(t, ok, name)
		constraint, ok := signature.TypeParams().At(0).Constraint().Underlying().(*types.Interface)
		require.True(t, ok, name)
		for _, object := range []types.Type{
			named(core, "Pod"), named(core, "Node"), named(meta, "PartialObjectMetadata"), named(unstructured, "Unstructured"),
		} {
			assert.False(t, types.Satisfies(object, constraint), "%s[%v]", name, object)
			assert.True(t, types.Satisfies(types.NewPointer(object), constraint), "%s[*%v]", name, object)
		}
		for _, other := range []types.Type{named(meta, "Object"), types.Typ[types.String]} {
			assert.True(t, types.Satisfies(other, constraint), "%s[%v]", name, other)
		}
	}
}
