// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// broken returns what does not compile in a module and its tests, a line for each place. The go
// command leaves out whatever imports a package that does not compile: this goes on there, so that
// the number says how much there is to do.
func (b *bump) broken(ctx context.Context, folder string) ([]string, error) {
	dir := filepath.Join(b.dir, folder)
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
	}, "./...")
	if err != nil {
		return nil, err
	}
	found := map[string]string{} // by place: a test has the files of its package once more
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, fault := range p.Errors {
			if place, err := filepath.Rel(dir, fault.Pos); err == nil && strings.Contains(place, ".go:") {
				found[place] = place + ": " + fault.Msg
			}
		}
	})
	return slices.Sorted(maps.Values(found)), nil
}
