// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// implementedByUsers are the interfaces that a later version cannot give more methods.
var implementedByUsers = []string{"audit.Informer", "direct.Getter"}

// TestNamesCanGrow: a later version can give structs more fields, and interfaces more methods,
// without breaking what compiles. That takes a name for the type of each field that is a struct,
// and interfaces that nobody else can implement.
func TestNamesCanGrow(t *testing.T) {
	own, count := readNameList(t, ownFile), 0
	for name, typ := range ownTypes(t) {
		if strings.HasPrefix(name, "cache.") && !own.has(name) || slices.Contains(implementedByUsers, name) {
			continue
		}
		count++
		assert.Empty(t, cannotGrow(typ), name)
	}
	assert.Greater(t, count, 40, "this test finds types")
}

// ownTypes returns the exported types of this module's packages that are no aliases.
func ownTypes(t *testing.T) map[string]types.Type {
	t.Helper()
	var paths []string
	for _, folder := range []string{"", "audit", "cachetest", "debug", "direct", "factory", "trim"} {
		paths = append(paths, path.Join(modulePath, folder))
	}
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

// cannotGrow returns what keeps a type from growing.
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
