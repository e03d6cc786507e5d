// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mover moves declarations between the packages of the root module, by a plan. It is for the redesign, and goes with it.
//
//	cd tools && go run ./mover check     prints the uses that the walls of the plan forbid, while all is in one package
//	cd tools && go run ./mover move      does it: new files, imports, exported names; what it cannot do it prints
//
// The plan, mover/plan.json, says for each file, or declaration of a file, which file it goes to. A name that is used across
// packages afterwards is exported; the methods of interfaces are so together. Methods follow their types. Names of
// clientgo*.go are written as client-go's own in packages other than the root.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"
)

var dir = flag.String("C", "..", "root module")
var planFile = flag.String("plan", "mover/plan.json", "where everything goes")
var verbose = flag.Bool("v", false, "print every use")

type decl struct {
	file   string // path in module, today
	name   string
	node   ast.Decl
	spec   ast.Spec // for one of a group
	target string
}

type world struct {
	plan  *plan
	fset  *token.FileSet
	root  string
	pkgs  []*packages.Package
	decls map[string]*decl // position of the object → decl
	files map[string]*ast.File
	info  map[string]*types.Info // file → info
	types map[string]*types.Package
	src   map[string][]byte
	order map[string][]*decl
}

func main() {
	flag.Parse()
	log.SetFlags(0)
	p, err := readPlan(*planFile)
	if err != nil {
		log.Fatal(err)
	}
	w, err := load(*dir, p)
	if err != nil {
		log.Fatal(err)
	}
	switch flag.Arg(0) {
	case "check":
		w.check()
	case "move":
		w.move()
	default:
		log.Fatal("check or move")
	}
}

func load(dir string, p *plan) (*world, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	cfg := &packages.Config{Dir: abs, Fset: fset, Tests: true, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedForTest}
	loaded, err := packages.Load(cfg, ".", "./internal/...")
	if err != nil {
		return nil, err
	}
	w := &world{plan: p, fset: fset, root: abs, decls: map[string]*decl{}, files: map[string]*ast.File{}, info: map[string]*types.Info{},
		types: map[string]*types.Package{}, src: map[string][]byte{}, order: map[string][]*decl{}}
	// Prefer the variant with tests.
	best := map[string]*packages.Package{}
	for _, pkg := range loaded {
		if strings.HasSuffix(pkg.PkgPath, ".test") {
			continue
		}
		for _, e := range pkg.Errors {
			return nil, e
		}
		if old := best[pkg.PkgPath]; old == nil || len(pkg.Syntax) > len(old.Syntax) {
			best[pkg.PkgPath] = pkg
		}
	}
	for _, name := range slices.Sorted(maps.Keys(best)) {
		pkg := best[name]
		w.pkgs = append(w.pkgs, pkg)
		for _, f := range pkg.Syntax {
			file := w.rel(f.FileStart)
			if file == "" {
				continue
			}
			w.files[file], w.info[file], w.types[file] = f, pkg.TypesInfo, pkg.Types
			if w.src[file], err = os.ReadFile(filepath.Join(abs, file)); err != nil {
				return nil, err
			}
			w.addDecls(file, f, pkg.TypesInfo)
		}
	}
	w.followTypes()
	return w, nil
}

// followTypes sends methods where their types go, unless the plan names them or they go to the same room anyway.
func (w *world) followTypes() {
	for file, decls := range w.order {
		for _, d := range decls {
			fd, ok := d.node.(*ast.FuncDecl)
			if !ok || fd.Recv == nil || w.plan.named(file, d.name) {
				continue
			}
			if t := w.typeDecl(file, recvName(fd)); t != nil && roomOf(t.target) != roomOf(d.target) {
				d.target = t.target
			}
		}
	}
}

func (w *world) rel(pos token.Pos) string {
	name := w.fset.Position(pos).Filename
	r, err := filepath.Rel(w.root, name)
	if err != nil || strings.HasPrefix(r, "..") {
		return ""
	}
	return r
}

func (w *world) at(pos token.Pos) string {
	p := w.fset.Position(pos)
	r, _ := filepath.Rel(w.root, p.Filename)
	return fmt.Sprintf("%s:%d", r, p.Offset)
}

func recvName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// addDecls splits a file into declarations. A region of text belongs to the declaration at its end.
func (w *world) addDecls(file string, f *ast.File, info *types.Info) {
	for _, n := range f.Decls {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name := n.Name.Name
			if r := recvName(n); r != "" {
				name = r + "." + name
			}
			d := &decl{file: file, name: name, node: n}
			d.target = w.plan.target(file, name)
			w.order[file] = append(w.order[file], d)
			w.decls[w.at(n.Name.Pos())] = d
		case *ast.GenDecl:
			if n.Tok == token.IMPORT {
				continue
			}
			w.addGen(file, n)
		}
	}
}

func specNames(s ast.Spec) (names []*ast.Ident) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

func (w *world) addGen(file string, n *ast.GenDecl) {
	targets := map[string]bool{}
	for _, s := range n.Specs {
		for _, id := range specNames(s) {
			targets[w.plan.target(file, id.Name)] = true
		}
	}
	if len(targets) == 1 || !n.Lparen.IsValid() {
		d := &decl{file: file, name: specNames(n.Specs[0])[0].Name, node: n}
		d.target = w.plan.target(file, d.name)
		w.order[file] = append(w.order[file], d)
		for _, s := range n.Specs {
			for _, id := range specNames(s) {
				w.decls[w.at(id.Pos())] = d
			}
		}
		return
	}
	for _, s := range n.Specs {
		d := &decl{file: file, name: specNames(s)[0].Name, node: n, spec: s}
		d.target = w.plan.target(file, d.name)
		w.order[file] = append(w.order[file], d)
		for _, id := range specNames(s) {
			w.decls[w.at(id.Pos())] = d
		}
	}
}

// ownerOf returns the top-level declaration that holds an object, nil if it is not of this module or local.
func (w *world) ownerOf(obj types.Object) *decl {
	if obj == nil || obj.Pkg() == nil || !strings.HasPrefix(obj.Pkg().Path(), module) {
		return nil
	}
	switch obj.(type) {
	case *types.PkgName, *types.Label, *types.Builtin, *types.Nil:
		return nil
	}
	if d := w.decls[w.at(obj.Pos())]; d != nil {
		return d
	}
	// a field, or a method of an interface: inside a declaration
	if v, ok := obj.(*types.Var); ok && !v.IsField() {
		return nil
	}
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() == nil {
		return nil
	}
	file := w.rel(obj.Pos())
	for _, d := range w.order[file] {
		from, to := d.node.Pos(), d.node.End()
		if d.spec != nil {
			from, to = d.spec.Pos(), d.spec.End()
		}
		if from <= obj.Pos() && obj.Pos() < to {
			return d
		}
	}
	return nil
}

func (w *world) declAt(file string, pos token.Pos) *decl {
	for _, d := range w.order[file] {
		from, to := d.node.Pos(), d.node.End()
		if d.spec != nil {
			from, to = d.spec.Pos(), d.spec.End()
		}
		if from <= pos && pos < to {
			return d
		}
	}
	return nil
}

func isBorder(file string) bool { return strings.HasPrefix(file, "clientgo") && !isTest(file) }

// border reports whether an object is an alias or re-export of client-go, which any room may name as client-go's.
func border(d *decl) bool { return isBorder(d.file) }

type use struct {
	from, to *decl
	obj      types.Object
	id       *ast.Ident
	file     string
}

func (w *world) uses(visit func(use)) {
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		f := w.files[file]
		info := w.info[file]
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := info.Uses[id]
			if obj == nil {
				return true
			}
			obj = origin(obj)
			to := w.ownerOf(obj)
			if to == nil {
				return true
			}
			from := w.declAt(file, id.Pos())
			if from == nil {
				return true
			}
			visit(use{from, to, obj, id, file})
			return true
		})
	}
}

func origin(obj types.Object) types.Object {
	switch o := obj.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return obj
}

// check prints the uses that the walls forbid, by pair of rooms.
func (w *world) check() {
	type key struct{ from, to string }
	pairs := map[key]map[string][]string{}
	for _, file := range slices.Sorted(maps.Keys(w.order)) {
		for _, d := range w.order[file] {
			fd, ok := d.node.(*ast.FuncDecl)
			if !ok || fd.Recv == nil {
				continue
			}
			if t := w.typeDecl(file, recvName(fd)); t != nil && roomOf(t.target) != roomOf(d.target) {
				fmt.Printf("METHOD %s in room %q, its type in %q (%s)\n", d.name, roomOf(d.target), roomOf(t.target), file)
			}
		}
	}
	w.uses(func(u use) {
		if isTest(u.file) || border(u.to) {
			return
		}
		from, to := roomOf(u.from.target), roomOf(u.to.target)
		if allowed(from, to) {
			return
		}
		k := key{from, to}
		if pairs[k] == nil {
			pairs[k] = map[string][]string{}
		}
		name := u.to.name
		if u.obj.Name() != name && !strings.HasSuffix(name, "."+u.obj.Name()) {
			name += "." + u.obj.Name()
		}
		pos := w.fset.Position(u.id.Pos())
		pairs[k][name] = append(pairs[k][name], fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line))
	})
	keys := slices.SortedFunc(maps.Keys(pairs), func(a, b key) int { return strings.Compare(a.from+">"+a.to, b.from+">"+b.to) })
	total := 0
	for _, k := range keys {
		n := 0
		for _, at := range pairs[k] {
			n += len(at)
		}
		total += n
		to := k.to
		if to == "" {
			to = "root"
		}
		fmt.Printf("%s > %s: %d uses, %d names\n", k.from, to, n, len(pairs[k]))
		for _, name := range slices.Sorted(maps.Keys(pairs[k])) {
			at := pairs[k][name]
			if !*verbose && len(at) > 6 {
				at = append(at[:6:6], fmt.Sprintf("and %d more", len(at)-6))
			}
			fmt.Printf("    %-45s %s\n", name, strings.Join(at, " "))
		}
	}
	fmt.Printf("%d forbidden uses\n", total)
}

func (w *world) typeDecl(file, name string) *decl {
	room := roomOf(file)
	for other, decls := range w.order {
		if roomOf(other) != room {
			continue
		}
		for _, d := range decls {
			g, ok := d.node.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if d.spec != nil && s != d.spec {
					continue
				}
				if s.(*ast.TypeSpec).Name.Name == name {
					return d
				}
			}
		}
	}
	return nil
}

func exported(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}
