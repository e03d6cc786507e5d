// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package walls_test looks at how the packages that an informer is made of are divided into files.
// TestWalls of the root holds who may import whom.
package walls_test

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

const internal = "github.com/kinformer/cache/internal/"

// withoutCircles are the packages in which files use each other in one direction only.
var withoutCircles = []string{"event", "reflector", "queue", "store", "fanout", "identical", "eventlog", "table"}

// TestNoCircles: of each package there is a file that can be read without the others, then one that
// needs only that, and so on.
func TestNoCircles(t *testing.T) {
	var paths []string
	for _, name := range withoutCircles {
		paths = append(paths, internal+name)
	}
	loaded, err := packages.Load(&packages.Config{Dir: "../..", Mode: packages.LoadSyntax}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != len(paths) {
		t.Errorf("%d packages of %d", len(loaded), len(paths))
	}
	all := 0
	for _, pkg := range loaded {
		for _, problem := range pkg.Errors {
			t.Error(problem)
		}
		uses := usesIn(pkg)
		all += len(uses)
		if circle := inCircles(uses); len(circle) > 0 {
			t.Errorf("%s: files use each other: %v", pkg.PkgPath, circle)
		}
	}
	if all == 0 {
		t.Error("no file uses another")
	}
}

// usesIn returns which files of a package name something that another one of them declares.
func usesIn(pkg *packages.Package) map[string]map[string]bool {
	uses := map[string]map[string]bool{}
	file := func(at token.Pos) string { return filepath.Base(pkg.Fset.Position(at).Filename) }
	for identifier, object := range pkg.TypesInfo.Uses {
		if _, imported := object.(*types.PkgName); imported || object.Pkg() != pkg.Types {
			continue
		}
		if from, to := file(identifier.Pos()), file(object.Pos()); from != to {
			if uses[from] == nil {
				uses[from] = map[string]bool{}
			}
			uses[from][to] = true
		}
	}
	return uses
}

// inCircles takes away files that use none of the others, as long as there are any, and returns
// those that are left.
func inCircles(uses map[string]map[string]bool) (left []string) {
	for again := true; again; {
		again = false
		for from, used := range uses {
			for to := range used {
				if len(uses[to]) == 0 {
					delete(used, to)
				}
			}
			if len(used) == 0 {
				delete(uses, from)
				again = true
			}
		}
	}
	for from := range uses {
		left = append(left, from)
	}
	return slices.Sorted(slices.Values(left))
}
