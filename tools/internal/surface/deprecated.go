// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"context"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Deprecated returns the exported names of packages whose comments say that they are deprecated,
// each with what the comment says about that.
func Deprecated(ctx context.Context, modules []Module, patterns ...string) (names map[string]string, err error) {
	names = map[string]string{}
	err = Require(ctx, modules, func(dir string, env []string) error {
		loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Env: env, Mode: packages.NeedName | packages.NeedFiles}, patterns...)
		if err != nil {
			return err
		}
		for _, pkg := range loaded {
			if err := addDeprecated(names, pkg.PkgPath, pkg.GoFiles); err != nil {
				return err
			}
		}
		return nil
	})
	return names, err
}

func addDeprecated(names map[string]string, path string, paths []string) error {
	set, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(set, files, path)
	if err != nil {
		return err
	}
	note := func(comment string, declared ...string) {
		text, found := deprecation(comment)
		for _, name := range declared {
			if found && ast.IsExported(name[strings.LastIndex(name, ".")+1:]) {
				names[path+"."+name] = text
			}
		}
	}
	functions := func(prefix string, all []*doc.Func) {
		for _, f := range all {
			note(f.Doc, prefix+f.Name)
		}
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			note(v.Doc, v.Names...)
		}
	}
	functions("", pkg.Funcs)
	values(append(pkg.Consts, pkg.Vars...))
	for _, t := range pkg.Types {
		note(t.Doc, t.Name)
		functions("", t.Funcs)
		functions(t.Name+".", t.Methods)
		values(append(t.Consts, t.Vars...))
	}
	return nil
}

// deprecation returns the paragraph of a comment that says so, as one line.
func deprecation(comment string) (string, bool) {
	for paragraph := range strings.SplitSeq("\n"+comment, "\n\n") {
		if text, found := strings.CutPrefix(strings.TrimSpace(paragraph), "Deprecated:"); found {
			return strings.Join(strings.Fields(text), " "), true
		}
	}
	return "", false
}
