// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/minor"
)

// TestBorderOnlyPassesOn: each name in the border's files is documented, and is client-go's name or
// a call to it with the same arguments in the same order. This finds errors that surface_test.go
// cannot find, such as two exchanged strings.
func TestBorderOnlyPassesOn(t *testing.T) {
	paths, err := filepath.Glob("clientgo*.go")
	require.NoError(t, err)
	paths = append(paths, "synctrack/synctrack.go", "testing/fake_controller_source.go")
	if !minor.Own {
		paths = append(paths, "internal/minor/minor.go")
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			assert.Empty(t, borderFaults(parseFile(t, path)), path)
		}
	}
}

// borderFaults returns the declarations of a file that are more than a name of client-go, or have
// no comment.
func borderFaults(file *ast.File) (faults []string) {
	for name, docs := range documentedNames(file) {
		if docs[0] == nil {
			faults = append(faults, name+" has no comment")
		}
	}
	for _, decl := range file.Decls {
		if !passesOn(decl) {
			faults = append(faults, declName(decl)+" is more than a name of client-go")
		}
	}
	return faults
}

func passesOn(decl ast.Decl) bool {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Name.Name == "WaitFor" || funcPassesOn(decl) // WaitFor may do more than call
	case *ast.GenDecl:
		return !slices.ContainsFunc(decl.Specs, func(spec ast.Spec) bool { return !specPassesOn(spec) })
	}
	return true
}

func specPassesOn(spec ast.Spec) bool {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		want := "clientgo." + spec.Name.Name + brackets(paramNames(spec.TypeParams))
		return spec.Assign.IsValid() && theirs(spec.Type) == want
	case *ast.ValueSpec:
		return len(spec.Names) == 1 && len(spec.Values) == 1 &&
			types.ExprString(spec.Values[0]) == "clientgo."+spec.Names[0].Name
	}
	return true
}

func funcPassesOn(decl *ast.FuncDecl) bool {
	if decl.Recv != nil || len(decl.Body.List) != 1 {
		return false
	}
	var call ast.Expr
	switch statement := decl.Body.List[0].(type) {
	case *ast.ReturnStmt:
		if len(statement.Results) == 1 {
			call = statement.Results[0]
		}
	case *ast.ExprStmt:
		call = statement.X
	}
	if call == nil {
		return false
	}
	arguments := "(" + strings.Join(paramNames(decl.Type.Params), ", ")
	if params := decl.Type.Params.List; len(params) > 0 {
		if _, variadic := params[len(params)-1].Type.(*ast.Ellipsis); variadic {
			arguments += "..."
		}
	}
	inferred := "clientgo." + decl.Name.Name + arguments + ")"
	explicit := "clientgo." + decl.Name.Name + brackets(paramNames(decl.Type.TypeParams)) + arguments + ")"
	return theirs(call) == inferred || theirs(call) == explicit
}

// theirs returns the text of an expression. What package minor has is client-go's.
func theirs(x ast.Expr) string {
	if text, isMinor := strings.CutPrefix(types.ExprString(x), "minor."); isMinor {
		return "clientgo." + text
	}
	return types.ExprString(x)
}

func paramNames(fields *ast.FieldList) (names []string) {
	if fields == nil {
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

func brackets(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func declName(decl ast.Decl) string {
	if f, ok := decl.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	return "a declaration"
}
