// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// accepted has a sentence of each licence that a requirement may have.
var accepted = map[string]*regexp.Regexp{
	"Apache-2.0": regexp.MustCompile(`Apache License,? Version 2\.0`),
	"BSD":        regexp.MustCompile(`Redistribution and use in source and binary forms, with or without modification, are permitted`),
	"ISC":        regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any purpose with or without fee`),
	"MIT":        regexp.MustCompile(`Permission is hereby granted, free of charge, to any person obtaining a copy`),
}

// refused finds other licences, and additions to the accepted ones that forbid a use.
var refused = regexp.MustCompile(`(?i)Mozilla Public|GNU |Eclipse Public|Common Development and|European Union Public|Creative Commons|` +
	`Commons Clause|Server Side Public|Business Source|All advertising materials mentioning`)

// TestLicences checks that each module that packages and tests of the root or of an adapter need has
// accepted licences only. With -v it lists them.
func TestLicences(t *testing.T) {
	for _, module := range []string{".", "adapters/client", "adapters/prom"} {
		t.Run(module, func(t *testing.T) {
			folders := requirements(t, module)
			assert.Greater(t, len(folders), 30, "requirements")
			for _, required := range slices.Sorted(maps.Keys(folders)) {
				licences := licencesOf(t, folders[required])
				t.Log(required, licences)
				assert.NotEmpty(t, licences, "%s has no licence file", required)
				assert.NotContains(t, licences, "other", required)
			}
		})
	}
}

// requirements returns the folders, in the module cache, of the modules that a module of ours needs.
// It skips the test if the cache lacks one, which CI may download.
func requirements(t *testing.T, module string) map[string]string {
	t.Helper()
	const format = `{{with .Module}}{{if .Version}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}`
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-f", format, "./...")
	command.Dir = module
	if os.Getenv("KINFORMER_CI") == "" {
		command.Env = append(os.Environ(), "GOPROXY=off")
	}
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if strings.Contains(problems.String(), "module lookup disabled by GOPROXY=off") {
		t.Skipf("the module cache lacks requirements of %s: run go mod download in it", module)
	}
	require.NoError(t, err, problems.String())
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if required, folder, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(required, modulePath) {
			folders[required] = folder
		}
	}
	return folders
}

// licencesOf returns the licences in the files of a module, and "other" for a file with an unknown
// or refused one.
func licencesOf(t *testing.T, folder string) (licences []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		if name := strings.ToLower(entry.Name()); entry.IsDir() || !regexp.MustCompile(`^(licen[cs]e|copying|unlicense)`).MatchString(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		licences = append(licences, licencesIn(string(text))...)
	}
	slices.Sort(licences)
	return slices.Compact(licences)
}

// licencesIn returns the licences in a text.
func licencesIn(text string) (licences []string) {
	text = strings.Join(strings.Fields(text), " ")
	for name, sentence := range accepted {
		if sentence.MatchString(text) {
			licences = append(licences, name)
		}
	}
	if len(licences) == 0 || refused.MatchString(text) {
		licences = append(licences, "other")
	}
	return licences
}

// TestLicencesInTexts checks that other licences are found, alone and beside an accepted one.
func TestLicencesInTexts(t *testing.T) {
	own, err := os.ReadFile("LICENSE")
	require.NoError(t, err)
	assert.Equal(t, []string{"Apache-2.0"}, licencesIn(string(own)))
	for _, other := range []string{"", "All rights reserved.", "Mozilla Public License Version 2.0", "GNU LESSER GENERAL\n PUBLIC LICENSE"} {
		assert.Equal(t, []string{"other"}, licencesIn(other), other)
	}
	assert.Equal(t, []string{"Apache-2.0", "other"}, licencesIn(string(own)+"\n\"Commons Clause\" License Condition"))
}
