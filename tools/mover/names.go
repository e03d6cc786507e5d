// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// edit replaces a range of a file's bytes.
type edit struct {
	from, to int
	text     string
}

type mover struct {
	*world
	rename map[string]string           // position of object → new name
	groups map[string]string           // union-find over method positions
	edits  map[string][]edit           // file → edits
	needs  map[*decl]map[string]string // decl → room or import path → package name
}

func (w *world) move() {
	m := &mover{world: w, rename: map[string]string{}, groups: map[string]string{}, edits: map[string][]edit{}, needs: map[*decl]map[string]string{}}
	m.group()
	m.choose()
	m.conflicts()
	m.rewrite()
	m.write()
}

func (m *mover) find(at string) string {
	for m.groups[at] != "" && m.groups[at] != at {
		at = m.groups[at]
	}
	return at
}

func (m *mover) union(a, b string) {
	a, b = m.find(a), m.find(b)
	if a != b {
		m.groups[a] = b
	}
}

// group joins the methods of interfaces with those that implement them.
func (m *mover) group() {
	var ifaces, named []*types.Named
	for _, pkg := range m.pkgs {
		for _, obj := range pkg.TypesInfo.Defs {
			tn, ok := obj.(*types.TypeName)
			if !ok || tn.IsAlias() {
				continue
			}
			n, ok := tn.Type().(*types.Named)
			if !ok {
				continue
			}
			if types.IsInterface(n) {
				ifaces = append(ifaces, n)
			} else {
				named = append(named, n)
			}
		}
	}
	for _, i := range ifaces {
		it := i.Underlying().(*types.Interface)
		for _, n := range append(slices.Clone(named), ifaces...) {
			if n == i || n.TypeParams().Len() > 0 || i.TypeParams().Len() > 0 {
				continue
			}
			t := types.Type(n)
			if !types.Implements(t, it) {
				t = types.NewPointer(n)
				if !types.Implements(t, it) {
					continue
				}
			}
			for k := range it.NumMethods() {
				im := it.Method(k)
				obj, _, _ := types.LookupFieldOrMethod(t, true, im.Pkg(), im.Name())
				if obj == nil || obj.Pkg() == nil || !strings.HasPrefix(obj.Pkg().Path(), module) || im.Pkg() == nil || !strings.HasPrefix(im.Pkg().Path(), module) {
					continue
				}
				m.union(m.at(im.Pos()), m.at(obj.Pos()))
			}
		}
	}
}

// choose finds what has to be exported.
func (m *mover) choose() {
	export := map[string]types.Object{}
	m.uses(func(u use) {
		if border(u.to) || u.obj.Exported() {
			return
		}
		if roomOf(u.from.target) == roomOf(u.to.target) {
			return
		}
		export[m.find(m.at(u.obj.Pos()))] = u.obj
	})
	// whole groups
	all := map[string]types.Object{}
	for _, pkg := range m.pkgs {
		for id, obj := range pkg.TypesInfo.Defs {
			if obj == nil || id.Name == "_" {
				continue
			}
			at := m.at(obj.Pos())
			if obj = origin(obj); m.ownerOf(obj) == nil {
				continue
			}
			all[at] = obj
		}
	}
	m.exportShared(all, export)
	for at, obj := range all {
		if export[m.find(at)] != nil || export[at] != nil {
			m.rename[at] = exported(obj.Name())
		}
	}
	m.usePlan(all)
}

// exportShared exports the methods of interfaces that are implemented in another room.
func (m *mover) exportShared(all, export map[string]types.Object) {
	rooms := map[string]string{}
	for at, obj := range all {
		group, room := m.find(at), roomOf(m.ownerOf(obj).target)
		if known, ok := rooms[group]; ok && known != room {
			export[group] = obj
		}
		rooms[group] = room
	}
}

// usePlan gives the names that the plan wants.
func (m *mover) usePlan(all map[string]types.Object) {
	for at, obj := range all {
		d := m.ownerOf(obj)
		for _, key := range slices.Compact([]string{d.name, m.qualified(obj)}) {
			if key == d.name && !isTop(obj, d) {
				continue
			}
			if to, ok := m.plan.Rename[key]; ok {
				if m.rename[at] != "" {
					to = exported(to)
				}
				m.rename[at] = to
			}
		}
	}
}

func isTop(obj types.Object, d *decl) bool {
	return obj.Parent() != nil && obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope()
}

// qualified is Type.member.
func (m *mover) qualified(obj types.Object) string {
	switch o := obj.(type) {
	case *types.Func:
		if r := o.Signature().Recv(); r != nil {
			t := r.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if n, ok := t.(*types.Named); ok {
				return n.Obj().Name() + "." + o.Name()
			}
		}
	case *types.Var:
		if d := m.ownerOf(obj); d != nil {
			return d.name + "." + o.Name()
		}
	}
	return obj.Name()
}

// conflicts reports new names that collide with others.
func (m *mover) conflicts() {
	m.topConflicts()
	m.memberConflicts()
}

func (m *mover) topConflicts() {
	top := map[string]map[string]string{} // room → name → at
	seen := map[string]bool{}
	for _, pkg := range m.pkgs {
		for id, obj := range pkg.TypesInfo.Defs {
			if obj == nil || id.Name == "_" || id.Name == "init" {
				continue
			}
			d := m.ownerOf(obj)
			if d == nil || !isTop(obj, d) {
				continue
			}
			at := m.at(obj.Pos())
			if seen[at] {
				continue
			}
			seen[at] = true
			room := roomOf(d.target)
			if pkg.Name == "cache_test" || strings.HasSuffix(pkg.Name, "_test") {
				room += "_test"
			}
			name := obj.Name()
			if n := m.rename[at]; n != "" {
				name = n
			}
			if top[room] == nil {
				top[room] = map[string]string{}
			}
			if other := top[room][name]; other != "" {
				fmt.Printf("CONFLICT in %q: %s at %s and %s\n", room, name, at, other)
			}
			top[room][name] = at
		}
	}
}

// memberConflicts reports fields and methods of a type that get the same name.
func (m *mover) memberConflicts() {
	for _, pkg := range m.pkgs {
		for _, obj := range pkg.TypesInfo.Defs {
			tn, ok := obj.(*types.TypeName)
			if !ok || tn.IsAlias() {
				continue
			}
			n, ok := tn.Type().(*types.Named)
			if !ok {
				continue
			}
			names := map[string]string{}
			add := func(o types.Object) {
				at := m.at(o.Pos())
				name := o.Name()
				if r := m.rename[at]; r != "" {
					name = r
				}
				if other := names[name]; other != "" && other != at {
					fmt.Printf("CONFLICT in type %s: %s at %s and %s\n", tn.Name(), name, at, other)
				}
				names[name] = at
			}
			if s, ok := n.Underlying().(*types.Struct); ok {
				for k := range s.NumFields() {
					if !s.Field(k).Embedded() {
						add(s.Field(k))
					}
				}
			}
			for k := range n.NumMethods() {
				add(n.Method(k))
			}
		}
	}
}
