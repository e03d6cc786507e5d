// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

func (m *mover) newName(obj types.Object) string {
	if n := m.rename[m.at(obj.Pos())]; n != "" {
		return n
	}
	return obj.Name()
}

func (m *mover) offset(pos token.Pos) int { return m.fset.Position(pos).Offset }

// rewrite makes the edits of identifiers.
func (m *mover) rewrite() {
	for _, file := range slices.Sorted(maps.Keys(m.files)) {
		f, info := m.files[file], m.info[file]
		selected := map[*ast.Ident]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				selected[n.Sel] = true
			}
			return true
		})
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				m.selector(file, info, s)
			}
			if id, ok := n.(*ast.Ident); ok {
				m.identifier(file, info, id, selected[id])
			}
			return true
		})
	}
}

// identifier makes the edit of one identifier, if it needs any.
func (m *mover) identifier(file string, info *types.Info, id *ast.Ident, selected bool) {
	if def := info.Defs[id]; def != nil {
		if n := m.rename[m.at(origin(def).Pos())]; n != "" && m.ownerOf(origin(def)) != nil {
			m.replace(file, id, n)
		}
		if v, ok := def.(*types.Var); !ok || !v.Embedded() { // else it is a use of the type, too
			return
		}
	}
	obj, from := info.Uses[id], m.declAt(file, id.Pos())
	if obj == nil || from == nil {
		return
	}
	if pn, ok := obj.(*types.PkgName); ok {
		m.need(from, pn.Imported().Path(), pn)
		return
	}
	obj = origin(obj)
	to := m.ownerOf(obj)
	if to == nil {
		return
	}
	if text := m.textFor(file, id, obj, from, to, selected); text != id.Name {
		m.replace(file, id, text)
	}
}

// textFor returns what an identifier in from that names obj, of to, is to be.
func (m *mover) textFor(file string, id *ast.Ident, obj types.Object, from, to *decl, selected bool) string {
	text := m.newName(obj)
	if isTop(obj, to) && !selected && roomOf(from.target) != roomOf(to.target) {
		if border(to) && roomOf(from.target) != "" {
			m.needPath(from, "k8s.io/client-go/tools/cache", "clientgo")
			return "clientgo." + obj.Name()
		}
		return m.qualify(from, to, text, file, id)
	}
	if v, ok := obj.(*types.Var); ok && v.Embedded() && v.IsField() { // named after its type
		if tn := embeddedType(v); tn != nil && m.ownerOf(tn) != nil {
			return m.newName(tn)
		}
	}
	return text
}

func embeddedType(v *types.Var) types.Object {
	t := v.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	switch t := t.(type) {
	case *types.Named:
		return t.Obj()
	case *types.Alias:
		return t.Obj()
	}
	return nil
}

// selector handles pkg.Name where Name moves into the package of the user, or elsewhere.
func (m *mover) selector(file string, info *types.Info, s *ast.SelectorExpr) {
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return
	}
	pn, ok := info.Uses[x].(*types.PkgName)
	if !ok || !strings.HasPrefix(pn.Imported().Path(), module) {
		return
	}
	obj := info.Uses[s.Sel]
	from, to := m.declAt(file, s.Pos()), m.ownerOf(obj)
	if obj == nil || to == nil || from == nil {
		return
	}
	if roomOf(to.target) != roomOf(to.file) {
		fmt.Printf("SELECTOR %s.%s at %s moves: mend by hand\n", x.Name, s.Sel.Name, m.at(s.Pos()))
	}
}

func (m *mover) need(from *decl, path string, pn *types.PkgName) {
	name := ""
	if pn.Name() != pn.Imported().Name() {
		name = pn.Name()
	}
	m.needPath(from, path, name)
}

func (m *mover) needPath(from *decl, path, name string) {
	if m.needs[from] == nil {
		m.needs[from] = map[string]string{}
	}
	m.needs[from][path] = name
}

// qualify names something of another room.
func (m *mover) qualify(from, to *decl, text, file string, id *ast.Ident) string {
	room := roomOf(to.target)
	if room == "" && roomOf(from.target) != "" {
		if !isTest(file) {
			fmt.Printf("UP %s:%d %s in %s\n", file, m.fset.Position(id.Pos()).Line, text, from.target)
		}
	}
	name := packageName(room)
	m.needPath(from, importPath(room), "")
	// shadowed?
	scope := m.types[file].Scope().Innermost(id.Pos())
	if scope != nil {
		if _, obj := scope.LookupParent(name, id.Pos()); obj != nil && obj.Parent() != types.Universe {
			if _, isPkg := obj.(*types.PkgName); !isPkg && (obj.Parent() != obj.Pkg().Scope() || m.stays(obj, from)) {
				fmt.Printf("SHADOW %s:%d %s.%s by %s\n", file, m.fset.Position(id.Pos()).Line, name, text, m.at(obj.Pos()))
			}
		}
	}
	return name + "." + text
}

// stays reports whether a package-level object is in the same room as from after the move, by its old name.
func (m *mover) stays(obj types.Object, from *decl) bool {
	d := m.ownerOf(obj)
	return d != nil && roomOf(d.target) == roomOf(from.target) && m.rename[m.at(obj.Pos())] == ""
}

func (m *mover) replace(file string, id *ast.Ident, text string) {
	from := m.offset(id.Pos())
	m.edits[file] = append(m.edits[file], edit{from, from + len(id.Name), text})
}
