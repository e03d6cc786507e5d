// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listedPackage is what the go command tells of a package. Export is the file with its compiled
// types.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loadSurfaces reads the surfaces of packages, and of what they import, from the go command's build
// cache. Types that two of them share are one type. It needs no network: everything was compiled
// for this test already.
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
		var files []string
		for _, file := range listed[path].GoFiles {
			files = append(files, filepath.Join(listed[path].Dir, file))
		}
		surfaces[path] = surface{pkg: pkg, deprecated: deprecatedNames(parseFiles(t, files))}
	}
	return surfaces
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

// buildFlags returns the flags under which this test was built and by which the build cache tells
// packages apart, so that the go command finds what it compiled for this test and compiles nothing
// anew.
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

func parseFiles(t *testing.T, paths []string) []*ast.File {
	t.Helper()
	files := make([]*ast.File, len(paths))
	for i, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files[i] = file
	}
	return files
}

// deprecatedNames returns the exported names of a package, "Type.Method" for methods, whose comment
// deprecates them.
func deprecatedNames(files []*ast.File) map[string]bool {
	deprecated := map[string]bool{}
	for _, file := range files {
		for name, docs := range documentedNames(file) {
			for _, doc := range docs {
				if isDeprecated(doc) {
					deprecated[name] = true
				}
			}
		}
	}
	return deprecated
}

// documentedNames returns the exported names that a file declares, each with the comments that
// belong to it: first its own, then that of the group it stands in, if it stands in one.
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

// funcName returns the function's name, "Type.Method" for a method of an exported type, "" for any
// other method.
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
	for paragraph := range strings.SplitSeq(doc.Text(), "\n\n") {
		if strings.HasPrefix(paragraph, "Deprecated: ") {
			return true
		}
	}
	return false
}
