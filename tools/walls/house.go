// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"
)

// module is the path of the root module. Its own package and those under internal/ are the rooms,
// but for those that only tests use.
const module = "github.com/kinformer/cache"

// house is the root module as its sources show it.
type house struct {
	rooms map[string]*room // by name
	uses  map[arrow]map[string]struct{}
}

// room is one package, by its path in the module; "root" is the module's own.
type room struct {
	name  string
	files map[string]int // name → lines
}

// place is a file of a room.
type place struct{ room, file string }

// arrow says that one file names something that the other declares.
type arrow struct{ from, to place }

func load(dir string) (*house, error) {
	config := &packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}
	loaded, err := packages.Load(config, ".", "./internal/...")
	if err != nil {
		return nil, err
	}
	h := &house{rooms: map[string]*room{}, uses: map[arrow]map[string]struct{}{}}
	loaded = slices.DeleteFunc(loaded, isForTests)
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			return nil, problem
		}
		h.addRoom(pkg)
	}
	for _, pkg := range loaded {
		h.addUses(pkg)
	}
	return h, nil
}

// isForTests reports whether no informer is made of a package.
func isForTests(pkg *packages.Package) bool {
	for _, kit := range []string{"internal/testkit", "internal/interleave"} {
		if name := roomOf(pkg.PkgPath); name == kit || strings.HasPrefix(name, kit+"/") {
			return true
		}
	}
	return false
}

// roomOf names the room of a package.
func roomOf(pkg string) string {
	if pkg == module {
		return "root"
	}
	return strings.TrimPrefix(pkg, module+"/")
}

func (h *house) addRoom(pkg *packages.Package) {
	r := &room{name: roomOf(pkg.PkgPath), files: map[string]int{}}
	for _, file := range pkg.Syntax {
		position := pkg.Fset.File(file.FileStart)
		r.files[filepath.Base(position.Name())] = position.LineCount()
	}
	h.rooms[r.name] = r
}

// addUses notes what the files of a package name that other files of the module declare.
func (h *house) addUses(pkg *packages.Package) {
	for identifier, object := range pkg.TypesInfo.Uses {
		if object.Pkg() == nil || !h.holds(object.Pkg().Path()) || !declared(object) {
			continue
		}
		to := place{roomOf(object.Pkg().Path()), fileOf(pkg.Fset, object.Pos())}
		from := place{roomOf(pkg.PkgPath), fileOf(pkg.Fset, identifier.Pos())}
		if from == to {
			continue
		}
		names := h.uses[arrow{from, to}]
		if names == nil {
			names = map[string]struct{}{}
			h.uses[arrow{from, to}] = names
		}
		names[nameOf(object)] = struct{}{}
	}
}

func (h *house) holds(pkg string) bool { return h.rooms[roomOf(pkg)] != nil }

func fileOf(files *token.FileSet, at token.Pos) string {
	return filepath.Base(files.Position(at).Filename)
}

// declared reports whether an object stands for itself: package names, labels and builtins are
// declared nowhere else.
func declared(object types.Object) bool {
	switch object.(type) {
	case *types.PkgName, *types.Label, *types.Builtin, *types.Nil:
		return false
	}
	return ast.IsExported(object.Name()) || object.Parent() == nil || object.Parent() == object.Pkg().Scope()
}

func nameOf(object types.Object) string {
	if f, ok := object.(*types.Func); ok {
		return strings.ReplaceAll(f.FullName(), module+"/", "")
	}
	return object.Name()
}

func (h *house) printRooms(out io.Writer, names bool) {
	fmt.Fprintln(out, "Rooms")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "room\tfiles\tlines\tuses inside\tlargest circle\t")
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(h.rooms)) {
		r, inside := h.rooms[name], h.inside(name)
		circle := largestCircle(r.files, inside)
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", name, len(r.files), r.lines(), arrows(inside), len(circle))
		if names && len(circle) > 0 {
			notes = append(notes, name+": "+strings.Join(circle, " "))
		}
	}
	table.Flush()
	for _, note := range notes {
		fmt.Fprintln(out, "circle of", note)
	}
}

func (r *room) lines() (n int) {
	for _, lines := range r.files {
		n += lines
	}
	return n
}

// inside is which files of a room use which.
func (h *house) inside(name string) map[string][]string {
	uses := map[string][]string{}
	for a := range h.uses {
		if a.from.room == name && a.to.room == name {
			uses[a.from.file] = append(uses[a.from.file], a.to.file)
		}
	}
	return uses
}

func arrows(uses map[string][]string) (n int) {
	for _, to := range uses {
		n += len(to)
	}
	return n
}

func (h *house) printArrows(out io.Writer) {
	type count struct {
		files int
		names map[string]struct{}
	}
	between, all := map[[2]string]*count{}, 0
	for a, names := range h.uses {
		if a.from.room == a.to.room {
			continue
		}
		all++
		pair := [2]string{a.from.room, a.to.room}
		if between[pair] == nil {
			between[pair] = &count{names: map[string]struct{}{}}
		}
		between[pair].files++
		maps.Copy(between[pair].names, names)
	}
	fmt.Fprintf(out, "\nBetween rooms: %d arrows between files\n", all)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	pairs := slices.SortedFunc(maps.Keys(between), func(a, b [2]string) int { return cmp.Compare(path.Join(a[:]...), path.Join(b[:]...)) })
	for _, pair := range pairs {
		fmt.Fprintf(table, "%s >\t%s\t%d arrows\t%d names\n", pair[0], pair[1], between[pair].files, len(between[pair].names))
	}
	table.Flush()
}
