// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// regions of a file: from the end of the former declaration to the end of this one.
func (m *mover) text(d *decl) string {
	file := d.file
	src := m.src[file]
	var from int
	list := m.order[file]
	i := slices.Index(list, d)
	lineEnd := func(off int) int {
		for off < len(src) && src[off] != '\n' {
			off++
		}
		return off
	}
	if i == 0 {
		from = m.offset(m.files[file].Name.End())
		if imports := lastImport(m.files[file]); imports.IsValid() {
			from = lineEnd(m.offset(imports))
		}
	} else {
		prev := list[i-1]
		from = lineEnd(m.offset(prev.node.End()))
	}
	to := lineEnd(m.offset(d.node.End()))
	if i == len(list)-1 {
		to = len(src)
	}
	return m.edited(file, from, to, d)
}

func specDoc(s ast.Spec) *ast.CommentGroup {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	}
	return nil
}

func lastImport(f *ast.File) token.Pos {
	var end token.Pos
	for _, n := range f.Decls {
		if g, ok := n.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			end = g.End()
		}
	}
	return end
}

// edited returns a range of a file with its edits, and with new names in comments.
func (m *mover) edited(file string, from, to int, d *decl) string {
	edits := slices.Clone(m.edits[file])
	edits = append(edits, m.commentEdits(file, from, to)...)
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := from
	for _, e := range edits {
		if e.from < at || e.to > to {
			continue
		}
		b.Write(m.src[file][at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(m.src[file][at:to])
	return b.String()
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// commentEdits renames what comments begin with, and type names anywhere in comments.
func (m *mover) commentEdits(file string, from, to int) (edits []edit) {
	names := m.commentNames()
	for _, group := range m.files[file].Comments {
		for _, c := range group.List {
			off := m.offset(c.Pos())
			if off < from || off >= to {
				continue
			}
			for i, at := range word.FindAllStringIndex(c.Text, -1) {
				old := c.Text[at[0]:at[1]]
				if n, ok := names[old]; ok {
					edits = append(edits, edit{off + at[0], off + at[1], n})
				} else if n := m.documented(file)[c.Pos()]; i == 0 && n[0] == old && n[1] != "" {
					edits = append(edits, edit{off + at[0], off + at[1], n[1]})
				}
			}
		}
	}
	return edits
}

var memoDocs = map[string]map[token.Pos][2]string{}

// documented maps the beginnings of doc comments to the old and new names of what they document.
func (m *mover) documented(file string) map[token.Pos][2]string {
	if memoDocs[file] != nil {
		return memoDocs[file]
	}
	docs := map[token.Pos][2]string{}
	note := func(doc *ast.CommentGroup, id *ast.Ident) {
		if doc != nil && id != nil {
			docs[doc.Pos()] = [2]string{id.Name, m.rename[m.at(id.Pos())]}
		}
	}
	ast.Inspect(m.files[file], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			note(n.Doc, n.Name)
		case *ast.GenDecl:
			if len(n.Specs) == 1 {
				for _, id := range specNames(n.Specs[0]) {
					note(n.Doc, id)
				}
			}
		case *ast.TypeSpec:
			note(n.Doc, n.Name)
		case *ast.ValueSpec:
			note(n.Doc, n.Names[0])
		case *ast.Field:
			if len(n.Names) > 0 {
				note(n.Doc, n.Names[0])
			}
		}
		return true
	})
	memoDocs[file] = docs
	return docs
}

var memoNames map[string]string

// commentNames are the renamed names that are no English words: those with a capital inside.
func (m *mover) commentNames() map[string]string {
	if memoNames != nil {
		return memoNames
	}
	memoNames = map[string]string{}
	for at, n := range m.rename {
		var off int
		file, offText, _ := strings.Cut(at, ":")
		fmt.Sscan(offText, &off)
		old := word.FindString(string(m.src[file][off:min(len(m.src[file]), off+80)]))
		if strings.ToLower(old) != old {
			memoNames[old] = n
		}
	}
	return memoNames
}

// write puts the declarations into their files.
func (m *mover) write() {
	out := map[string][]*decl{}
	touched := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(m.order)) {
		if len(m.order[file]) == 0 {
			continue
		}
		if file == "doc.go" {
			continue
		}
		for _, d := range m.order[file] {
			out[d.target] = append(out[d.target], d)
			touched[file] = true
		}
	}
	contents := map[string]string{}
	for _, target := range slices.Sorted(maps.Keys(out)) {
		decls := out[target]
		if m.unchanged(target, decls) {
			touched[target] = false
			continue
		}
		contents[target] = m.compose(target, decls)
	}
	for file := range touched {
		if touched[file] && contents[file] == "" {
			if _, still := out[file]; !still {
				os.Remove(filepath.Join(m.root, file))
			}
		}
	}
	for target, text := range contents {
		path := filepath.Join(m.root, target)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		formatted, err := format.Source([]byte(text))
		if err != nil {
			fmt.Println("FORMAT", target, err)
			formatted = []byte(text)
		}
		if err := os.WriteFile(path, formatted, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

func (m *mover) unchanged(target string, decls []*decl) bool {
	for _, d := range decls {
		if d.file != target {
			return false
		}
	}
	return len(decls) == len(m.order[target]) && len(m.edits[target]) == 0
}

func (m *mover) compose(target string, decls []*decl) string {
	var b strings.Builder
	f := m.files[decls[0].file]
	pkg := packageName(roomOf(target))
	if strings.HasSuffix(f.Name.Name, "_test") {
		pkg += "_test"
	}
	src := m.src[decls[0].file]
	// build constraints and the package comment stay with a file that keeps its place
	header := "// Copyright The kinformer Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	if decls[0].file == target || m.plan.Move[decls[0].file] == target {
		header = string(src[:m.offset(f.Package)])
	}
	b.WriteString(header)
	fmt.Fprintf(&b, "package %s\n", pkg)
	b.WriteString(importBlock(m.importsOf(target, pkg, decls)))
	m.composeDecls(&b, decls)
	return b.String()
}

// importsOf returns what the declarations import: path → name.
func (m *mover) importsOf(target, pkg string, decls []*decl) map[string]string {
	imports := map[string]string{}
	for _, d := range decls {
		for path, name := range m.needs[d] {
			if path == importPath(roomOf(target)) && !strings.HasSuffix(pkg, "_test") {
				continue
			}
			imports[path] = name
		}
	}
	for _, d := range decls { // blank and dot imports
		for _, spec := range m.files[d.file].Imports {
			if spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") && d.file == target {
				imports[strings.Trim(spec.Path.Value, `"`)] = spec.Name.Name
			}
		}
	}
	return imports
}

// composeDecls writes the declarations; those of one group stay together.
func (m *mover) composeDecls(b *strings.Builder, decls []*decl) {
	groups := map[*ast.GenDecl][]*decl{}
	for _, d := range decls {
		if d.spec != nil {
			groups[d.node.(*ast.GenDecl)] = append(groups[d.node.(*ast.GenDecl)], d)
		}
	}
	done := map[*ast.GenDecl]bool{}
	for _, d := range decls {
		if d.spec == nil {
			b.WriteString(m.text(d))
			b.WriteString("\n")
			continue
		}
		g := d.node.(*ast.GenDecl)
		if done[g] {
			continue
		}
		done[g] = true
		b.WriteString("\n")
		if g.Doc != nil && !m.split(g, groups[g]) {
			b.WriteString(m.edited(d.file, m.offset(g.Doc.Pos()), m.offset(g.Doc.End()), d) + "\n")
		}
		fmt.Fprintf(b, "%s (\n", g.Tok)
		for _, s := range groups[g] {
			from := m.offset(s.spec.Pos())
			if doc := specDoc(s.spec); doc != nil {
				from = m.offset(doc.Pos())
			}
			to := m.offset(s.spec.End())
			for to < len(m.src[s.file]) && m.src[s.file][to] != '\n' {
				to++
			}
			b.WriteString("\t" + m.edited(s.file, from, to, s) + "\n")
		}
		b.WriteString(")\n")
	}
}

// split reports whether a group's declarations go to several files.
func (m *mover) split(g *ast.GenDecl, here []*decl) bool { return len(here) != len(g.Specs) }

func importBlock(imports map[string]string) string {
	if len(imports) == 0 {
		return ""
	}
	var std, other, own []string
	for path, name := range imports {
		line := fmt.Sprintf("%q", path)
		if name != "" {
			line = name + " " + line
		}
		switch first, _, _ := strings.Cut(path, "/"); {
		case strings.HasPrefix(path, module):
			own = append(own, line)
		case strings.Contains(first, "."):
			other = append(other, line)
		default:
			std = append(std, line)
		}
	}
	var b strings.Builder
	b.WriteString("\nimport (\n")
	for _, list := range [][]string{std, other, own} {
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, c string) int { return strings.Compare(a[strings.Index(a, `"`):], c[strings.Index(c, `"`):]) })
		for _, line := range list {
			b.WriteString("\t" + line + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n")
	return b.String()
}
