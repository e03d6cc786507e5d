// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const cachePackage = "k8s.io/client-go/tools/cache"

// backfill replaces internal/minor by the declarations that it names, and those that they need, from
// the source of the later client-go. Each file of that source becomes a file with its licence. In the tree for
// a later minor only the name of the minor changes.
func (p *port) backfill(ctx context.Context) error {
	dir := filepath.Join(p.to, "internal", "minor")
	if p.k8s != "" {
		return p.renameMinor(filepath.Join(dir, "of.go"))
	}
	wanted, err := exportedIn(filepath.Join(dir, "minor.go"))
	if err != nil {
		return err
	}
	older, err := output(ctx, p.to, "go", "list", "-f", "{{.Dir}}", cachePackage)
	if err != nil {
		return err
	}
	there, err := exportedIn(filepath.Join(strings.TrimSpace(older), "*.go"))
	if err != nil {
		return err
	}
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: p.from, Mode: packages.LoadSyntax | packages.NeedModule}, cachePackage)
	if err != nil {
		return err
	}
	if len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		return fmt.Errorf("%s: %v", cachePackage, loaded)
	}
	c := newCutter(loaded[0], there)
	for _, name := range wanted {
		if slices.Contains(there, name) {
			return fmt.Errorf("client-go %s has %s, too: take it out of internal/minor", p.minor, name)
		}
		if err := c.cut(name); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(filepath.Join(dir, "minor.go")), p.writeOf(dir), c.write(dir))
}

var minorOfTree = regexp.MustCompile(`const Of = ".*"`)

// renameMinor sets the minor in the file of.go.
func (p *port) renameMinor(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, minorOfTree.ReplaceAll(text, fmt.Appendf(nil, "const Of = %q", p.minor)), 0o644)
}

// writeOf writes the file of.go, with the minor of the tree.
func (p *port) writeOf(dir string) error {
	text := fmt.Sprintf("// Copyright The kinformer Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"+
		"// Package minor has the names of client-go that %[1]s lacks: here they are of this module. The\n// other files are cut out of client-go's source, see tools/port.\npackage minor\n\n"+
		"// Of is the minor of client-go that this tree goes with.\nconst Of = %[1]q\n\n"+
		"// Own reports whether the other names are declarations of this package, and not client-go's.\nconst Own = true\n", p.minor)
	return os.WriteFile(filepath.Join(dir, "of.go"), []byte(text), 0o644)
}

// exportedIn returns the exported names that files declare, without methods and tests.
func exportedIn(pattern string) (names []string, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(path, "_test.go") && ast.FileExports(file) {
			names = append(names, declaredIn(file)...)
		}
	}
	return names, nil
}

// declaredIn returns the names that a file declares, without methods.
func declaredIn(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names
}

// cutter copies declarations of a package.
type cutter struct {
	pkg   *packages.Package
	there []string              // the names that the older package has
	nodes map[string][]ast.Node // the declarations of each name; of a type, with its methods
	taken map[string]bool
	texts map[string][]cutText       // by file
	uses  map[string]map[string]bool // the import lines of each file
}

// cutText is the text of a declaration, and its position in the source.
type cutText struct {
	at   token.Pos
	text string
}

func newCutter(pkg *packages.Package, there []string) *cutter {
	c := &cutter{pkg, there, map[string][]ast.Node{}, map[string]bool{}, map[string][]cutText{}, map[string]map[string]bool{}}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiverOf(d)
				}
				c.nodes[name] = append(c.nodes[name], d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok && !d.Lparen.IsValid() {
						c.nodes[t.Name.Name] = append(c.nodes[t.Name.Name], d)
					}
				}
			}
		}
	}
	return c
}

// receiverOf returns the name of a method's receiver type.
func receiverOf(method *ast.FuncDecl) (name string) {
	ast.Inspect(method.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// cut copies the declarations of a name, and those that they need.
func (c *cutter) cut(name string) error {
	if c.taken[name] {
		return nil
	}
	c.taken[name] = true
	if len(c.nodes[name]) == 0 {
		return fmt.Errorf("%s is not a type or function of %s that can be cut out", name, c.pkg.PkgPath)
	}
	for _, node := range c.nodes[name] {
		if err := c.take(node); err != nil {
			return err
		}
	}
	return nil
}

// take copies a declaration. Names that the older package has are qualified, and others are cut, too.
func (c *cutter) take(node ast.Node) error {
	file := filepath.Base(c.pkg.Fset.Position(node.Pos()).Filename)
	var qualified []token.Pos
	var faults []error
	ast.Inspect(node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		used := c.pkg.TypesInfo.Uses[id]
		switch name, imported := used.(*types.PkgName); {
		case imported:
			c.imports(file, name.Name(), name.Imported().Path())
		case used == nil || used.Parent() != c.pkg.Types.Scope():
		case slices.Contains(c.there, id.Name):
			c.imports(file, "clientgo", cachePackage)
			qualified = append(qualified, id.Pos())
		default:
			faults = append(faults, c.cut(id.Name))
		}
		return true
	})
	text, err := c.textOf(node, qualified)
	c.texts[file] = append(c.texts[file], cutText{node.Pos(), text})
	return errors.Join(append(faults, err)...)
}

// textOf returns the source of a declaration with its comment, and with "clientgo." inserted at the
// positions qualified.
func (c *cutter) textOf(node ast.Node, qualified []token.Pos) (string, error) {
	offset := func(at token.Pos) int { return c.pkg.Fset.Position(at).Offset }
	src, err := os.ReadFile(c.pkg.Fset.Position(node.Pos()).Filename)
	if err != nil {
		return "", err
	}
	text, from := "", offset(node.Pos())
	if doc := docOf(node); doc != nil {
		from = offset(doc.Pos())
	}
	for _, at := range slices.Sorted(slices.Values(qualified)) {
		text, from = text+string(src[from:offset(at)])+"clientgo.", offset(at)
	}
	return text + string(src[from:offset(node.End())]), nil
}

func docOf(node ast.Node) *ast.CommentGroup {
	switch d := node.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

func (c *cutter) imports(file, name, path string) {
	if c.uses[file] == nil {
		c.uses[file] = map[string]bool{}
	}
	line := fmt.Sprintf("%q", path)
	if name != path[strings.LastIndex(path, "/")+1:] {
		line = name + " " + line
	}
	c.uses[file][line] = true
}

// write writes the copied declarations, in the order of the source.
func (c *cutter) write(dir string) error {
	for _, syntax := range c.pkg.Syntax {
		name := filepath.Base(c.pkg.Fset.Position(syntax.Pos()).Filename)
		texts := c.texts[name]
		if len(texts) == 0 {
			continue
		}
		slices.SortFunc(texts, func(a, b cutText) int { return cmp.Compare(a.at, b.at) })
		var b bytes.Buffer
		for _, line := range syntax.Comments[0].List {
			b.WriteString(line.Text + "\n")
		}
		fmt.Fprintf(&b, "\n// Cut by tools/port out of tools/cache/%s of %s, with names of that package qualified. DO NOT EDIT.\n\npackage minor\n\nimport (\n%s\n)\n",
			name, c.pkg.Module.Path+" "+c.pkg.Module.Version, strings.Join(slices.Sorted(maps.Keys(c.uses[name])), "\n"))
		for _, t := range texts {
			b.WriteString("\n" + t.text + "\n")
		}
		src, err := format.Source(b.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
