// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package walls_test checks the dependencies between the packages of the library, and between the
// files of a package.
package walls_test

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

const modulePath = "github.com/kinformer/cache"

// withoutCircles are the packages without circular dependencies between files.
var withoutCircles = []string{
	"", "internal/event", "internal/reflector", "internal/queue", "internal/store", "internal/fanout",
	"internal/identical", "internal/footprint", "internal/eventlog", "internal/table", "internal/pipeline", "internal/provider",
	"internal/decode", "internal/decode/mem", "internal/decode/scan", "internal/decode/share", "internal/decode/stream",
	"internal/decode/document", "internal/decode/json", "internal/decode/proto", "internal/tap", "internal/tap/engine", "internal/sources", "internal/owners",
}

// TestNoFileCycles checks that the files of a package have an order in which each uses only those before
// it.
func TestNoFileCycles(t *testing.T) {
	all := 0
	for _, name := range withoutCircles {
		pkg := loaded(t)[name]
		if pkg == nil {
			t.Errorf("there is no package %q", name)
			continue
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

// usesIn returns, for each file of a package, the other files whose declarations it uses.
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

// inCircles repeatedly removes the files that use no others, and returns those that are left.
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

// mayUse are the walls: the packages of the library that a package, without its tests, may use, by
// imports or by the fields and methods of values from others. The engines may use internal/event but
// not each other, and the packages below them use none.
var mayUse = map[string][]string{
	"": {"internal/event", "internal/reflector", "internal/queue", "internal/store", "internal/fanout",
		"internal/table", "internal/door", "internal/minor", "internal/pipeline", "internal/provider", "internal/shard", "internal/switched"},
	"internal/event":            {},
	"internal/door":             {"internal/event", "internal/fanout", "internal/queue", "internal/reflector", "internal/store", "internal/table", "internal/tap"},
	"internal/beside":           {"internal/door", "internal/event", "internal/minor", "internal/reflector", "internal/store", "internal/table"},
	"internal/table":            {},
	"internal/eventlog":         {},
	"internal/footprint":        {},
	"internal/identical":        {},
	"internal/semantic":         {"internal/identical"},
	"internal/keep":             {},
	"internal/minor":            {},
	"internal/shard":            {},
	"internal/testkit/cputime":  {},
	"internal/testkit/draw":     {},
	"internal/testkit/workload": {},
	"internal/decode": {"internal/decode/document", "internal/decode/json", "internal/decode/mem", "internal/decode/proto",
		"internal/decode/scan", "internal/decode/share", "internal/decode/stream", "internal/keep"},
	"internal/decode/mem":      {},
	"internal/decode/scan":     {"internal/decode/mem"},
	"internal/decode/share":    {"internal/decode/mem", "internal/footprint", "internal/keep"},
	"internal/decode/stream":   {"internal/decode/scan"},
	"internal/decode/document": {"internal/decode/mem", "internal/decode/scan", "internal/decode/share", "internal/keep"},
	"internal/decode/json":     {"internal/decode/document", "internal/decode/mem", "internal/decode/scan", "internal/decode/share", "internal/keep"},
	"internal/decode/proto":    {"internal/decode/mem", "internal/decode/scan", "internal/decode/share", "internal/keep"},
	"internal/interleave":      {},
	"internal/tap":             {"internal/event", "internal/shard"},
	"internal/tap/engine": {"internal/decode", "internal/decode/mem", "internal/decode/proto", "internal/decode/share", "internal/decode/stream",
		"internal/event", "internal/keep", "internal/shard", "internal/tap"},
	"internal/tap/engine/taptest": {"internal/tap", "internal/tap/engine"},
	"internal/reflector":          {"internal/event", "internal/shard", "internal/tap"},
	"internal/queue":              {"internal/event", "internal/minor"},
	"internal/store":              {"internal/event", "internal/table", "internal/identical"},
	"internal/fanout":             {"internal/event", "internal/eventlog", "internal/minor"},
	"internal/provider":           {"internal/event", "internal/minor"},
	"internal/pipeline":           {"internal/event", "internal/provider", "internal/queue", "internal/reflector", "internal/store", "internal/table"},
	"internal/sources":            {"internal/door", "internal/event", "internal/owners", "internal/queue", "internal/reflector"},
	"internal/owners":             {"internal/event", "internal/identical", "internal/store", "internal/table"},
	"internal/switched":           {"internal/event", "internal/fanout", "internal/shard"},
	"internal/metrics":            {"inspect", "internal/switched"},
	"internal/testkit":            {"cachetest", "internal/minor"},
	"internal/testkit/checker":    {},
	"internal/testkit/informers": {"", "cachetest", "direct", "inspect", "internal/door", "internal/reflector", "internal/tap/engine/taptest",
		"internal/testkit", "kinformer"},
	"internal/rules": {},
	"cachetest":      {"internal/semantic"},
	"direct":         {"internal/tap", "internal/tap/engine"},
	"audit": {"", "audit/internal/exact", "inspect", "internal/beside", "internal/door", "internal/event",
		"internal/reflector", "internal/semantic"},
	"audit/internal/exact": {"internal/decode", "internal/event", "internal/reflector", "internal/shard", "internal/tap",
		"internal/tap/engine"},
	"debug": {"", "inspect", "internal/beside", "internal/door", "internal/switched", "view"},
	"inspect": {"internal/beside", "internal/door", "internal/event", "internal/fanout", "internal/footprint", "internal/queue", "internal/reflector",
		"internal/switched", "internal/table", "internal/tap"},
	"kinformer": {"", "inspect", "internal/beside", "internal/door", "internal/event", "internal/fanout", "internal/keep", "internal/queue", "internal/reflector",
		"internal/store", "internal/switched", "internal/table", "internal/tap"},
	"view":      {"internal/beside", "internal/door", "internal/event", "internal/table"},
	"factory":   {"", "inspect", "internal/door", "internal/event", "internal/shard", "internal/sources", "internal/switched", "internal/tap", "kinformer"},
	"sources":   {"", "inspect", "internal/door", "internal/event", "internal/reflector", "internal/shard", "internal/sources", "kinformer"},
	"synctrack": {},
	"retry":     {"", "internal/event"},
	"testing":   {},

	"cmd/kinformer-measure": {"", "direct", "inspect", "internal/decode", "internal/decode/share", "internal/decode/stream", "internal/keep", "internal/testkit/cputime", "kinformer"},
}

// TestWalls checks that each package has a rule in mayUse and keeps it.
func TestWalls(t *testing.T) {
	for name, pkg := range loaded(t) {
		if strings.HasPrefix(name, "internal/interleave/") || name == "factory/internal/tablegen" {
			continue // belongs to the tools
		}
		allowed, known := mayUse[name]
		if !known {
			t.Errorf("%s: list in mayUse the packages that it may use", pkg.PkgPath)
		}
		for used, example := range usedBy(pkg) {
			if !slices.Contains(allowed, used) {
				t.Errorf("%s uses %s of %s", pkg.PkgPath, example, used)
			}
		}
	}
}

// usedBy returns the other packages of the library that a package uses, each with the name of one use.
func usedBy(pkg *packages.Package) map[string]string {
	used := map[string]string{}
	for _, object := range pkg.TypesInfo.Uses {
		if object.Pkg() == nil || object.Pkg() == pkg.Types {
			continue
		}
		if name, ours := inModule(object.Pkg().Path()); ours {
			used[name] = object.Name()
		}
	}
	return used
}

// inModule returns the name of a package within the library, and reports whether it is part of it.
func inModule(path string) (name string, ours bool) {
	if path == modulePath {
		return "", true
	}
	return strings.CutPrefix(path, modulePath+"/")
}

var load = sync.OnceValues(func() ([]*packages.Package, error) {
	return packages.Load(&packages.Config{Dir: "../..", Mode: packages.LoadSyntax}, "./...")
})

// loaded returns the packages of the library by their names within it.
func loaded(t *testing.T) map[string]*packages.Package {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*packages.Package{}
	for _, pkg := range all {
		for _, problem := range pkg.Errors {
			t.Error(problem)
		}
		name, ours := inModule(pkg.PkgPath)
		if !ours {
			t.Errorf("%s is not a package of the library", pkg.PkgPath)
		}
		byName[name] = pkg
	}
	return byName
}
