// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licence is one that users of an Apache-2.0 library accept without asking, and what its text has.
type licence struct {
	id      string // of SPDX
	phrases []string
}

var licences = []licence{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MIT", []string{"Permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"BSD-3-Clause", []string{"Redistributions of source code must retain", "Neither the name"}},
	{"BSD-3-Clause", []string{"Redistributions of source code must retain", "The names of its contributors may not be used"}},
	{"BSD-2-Clause", []string{"Redistributions of source code must retain", "Redistributions in binary form must reproduce"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}},
}

// others are phrases of licences that ask for more, wherever they stand in a text.
var others = []string{"GNU ", "Mozilla Public", "Eclipse Public", "Server Side Public", "Business Source", "Commons Clause",
	"Creative Commons", "non-commercial", "noncommercial"}

// licencesOf names the licences in the text of a LICENSE file. A file may have several.
func licencesOf(text string) (ids []string, err error) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(phrase string) bool { return strings.Contains(text, strings.ToLower(phrase)) }
	for _, other := range others {
		if has(other) {
			return nil, fmt.Errorf("its licence speaks of %q", strings.TrimSpace(other))
		}
	}
	for _, known := range licences {
		missing := slices.ContainsFunc(known.phrases, func(phrase string) bool { return !has(phrase) })
		less := known.id == "BSD-2-Clause" && slices.Contains(ids, "BSD-3-Clause")
		if !missing && !less && !slices.Contains(ids, known.id) {
			ids = append(ids, known.id)
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("its licence is none that we know")
	}
	return ids, nil
}

// dependency is a module that a program gets with a package of ours.
type dependency struct{ path, version, dir string }

// checkLicences: whatever is linked into a program with our packages may be used as we may.
func (r *release) checkLicences(ctx context.Context) (string, error) {
	dependencies, err := r.dependencies(ctx)
	if err != nil {
		return "", err
	}
	count, faults := map[string]int{}, []error(nil)
	for _, d := range dependencies {
		ids, err := licencesIn(d.dir)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", d.path, d.version, err))
		}
		for _, id := range ids {
			count[id]++
		}
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", id, count[id]))
	}
	return fmt.Sprintf("of %d modules: %s", len(dependencies), strings.Join(parts, ", ")), errors.Join(faults...)
}

// dependencies are the modules of others whose packages the published modules import, tests apart.
func (r *release) dependencies(ctx context.Context) (all []dependency, err error) {
	for _, folder := range r.folders() {
		some, err := r.dependenciesOf(ctx, folder)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, dependency.compare)
	return slices.Compact(all), nil
}

// dependenciesOf are those of one published module. The nested ones have the root's, too.
func (r *release) dependenciesOf(ctx context.Context, folder string) (all []dependency, err error) {
	const format = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}"
	listed, err := output(ctx, filepath.Join(r.dir, folder), nil, "go", "list", "-deps", "-f", format, "./...")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(listed) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(field) == 3 && !r.isOurs(field[0]) {
			all = append(all, dependency{field[0], field[1], field[2]})
		}
	}
	slices.SortFunc(all, dependency.compare)
	return slices.Compact(all), nil
}

func (d dependency) compare(other dependency) int {
	return strings.Compare(d.path+"@"+d.version, other.path+"@"+other.version)
}

// licencesIn names the licences of the module in a folder.
func licencesIn(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, _, _ := strings.Cut(strings.ToUpper(entry.Name()), ".")
		if entry.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING"}, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		found, err := licencesOf(string(text))
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 {
		return nil, errors.New("it has no LICENSE file")
	}
	return ids, nil
}
