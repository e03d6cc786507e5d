// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "k8s.io/client-go/tools/cache"
	_ "k8s.io/client-go/tools/cache/synctrack"
	_ "k8s.io/client-go/tools/cache/testing"

	_ "github.com/kinformer/cache"
	_ "github.com/kinformer/cache/synctrack"
	_ "github.com/kinformer/cache/testing"
)

const (
	ourModule   = "github.com/kinformer/cache"
	theirModule = "k8s.io/client-go/tools/cache"

	missingFile   = "testdata/surface/missing.txt"
	differentFile = "testdata/surface/different.txt"
	ownFile       = "testdata/surface/own.txt"
)

var updateSurface = flag.Bool("surface.update", false,
	"take names that are there now off "+missingFile+", and write "+ownFile+" anew")

// TestSurface holds the exported names of this package and its mirrors against those of client-go,
// at the version that go.mod asks for. The three lists say what may deviate, and every line of them
// must be true: missing.txt what is not there, which is nothing; different.txt which types are our
// own; own.txt what client-go does not have.
func TestSurface(t *testing.T) {
	missing, different, own := readNameList(t, missingFile), readNameList(t, differentFile), readNameList(t, ownFile)
	assert.Empty(t, missing.names(), "a drop-in has every name of client-go")
	total := totalSurface(t, different)

	if *updateSurface {
		missing.remove(func(name string) bool { return !slices.Contains(total.missing, name) })
		missing.write(t)
		own.set(total.extra)
		own.write(t)
	}
	t.Logf("missing of client-go's names (%d): %s", len(total.missing), strings.Join(total.missing, " "))
	for _, fault := range judgeSurface(total, missing, different, own) {
		t.Error(fault)
	}
}

// totalSurface compares the three packages and returns one report, in which each name carries its
// package.
func totalSurface(t *testing.T, different *nameList) surfaceReport {
	t.Helper()
	folders := []string{"", "/synctrack", "/testing"}
	var paths []string
	for _, folder := range folders {
		paths = append(paths, theirModule+folder, ourModule+folder)
	}
	surfaces := loadSurfaces(t, paths...)

	var total surfaceReport
	for _, folder := range folders {
		theirs, ours := surfaces[theirModule+folder], surfaces[ourModule+folder]
		require.Equal(t, theirs.pkg.Name(), ours.pkg.Name())
		prefix := theirs.pkg.Name() + "."
		report := compareSurfaces(theirs, ours, func(name string) bool { return different.has(prefix + name) })
		total.missing = append(total.missing, prefixed(prefix, report.missing)...)
		total.extra = append(total.extra, prefixed(prefix, report.extra)...)
		total.different = append(total.different, prefixed(prefix, report.different)...)
		total.faults = append(total.faults, prefixed(prefix, report.faults)...)
	}
	return total
}

// judgeSurface returns what is wrong: every fault of the report, and each place where a list and
// the report disagree.
func judgeSurface(report surfaceReport, missing, different, own *nameList) []string {
	faults := slices.Clone(report.faults)
	complain := func(names []string, text string) {
		for _, name := range names {
			faults = append(faults, name+": "+text)
		}
	}
	complain(without(report.missing, missing.names()), "is missing, and not listed in "+missing.path)
	complain(without(missing.names(), report.missing), "is not missing: take it off "+missing.path)
	complain(without(report.different, different.names()), "is another type than theirs, and not listed in "+different.path)
	complain(without(different.names(), slices.Concat(report.different, report.missing)),
		"is no type of our own: take it off "+different.path)
	complain(without(report.extra, own.names()), "is not in client-go, and not listed in "+own.path)
	complain(without(own.names(), report.extra), "is no name of our own: take it off "+own.path)
	complain(missing.withoutReason(), "has no reason in "+missing.path)
	complain(different.withoutReason(), "has no reason in "+different.path)
	return faults
}

// nameList is a file of names, one a line, each followed by a reason where the list asks for one.
// Lines that start with # are comments and stay at their place.
type nameList struct {
	path  string
	lines []string
}

func readNameList(t *testing.T, path string) *nameList {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseNameList(path, string(text))
}

func parseNameList(path, text string) *nameList {
	list := &nameList{path: path}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list.lines = append(list.lines, line)
		}
	}
	return list
}

func isComment(line string) bool { return strings.HasPrefix(line, "#") }

func name(line string) string { return strings.Fields(line)[0] }

func (l *nameList) names() (names []string) {
	for _, line := range l.lines {
		if !isComment(line) {
			names = append(names, name(line))
		}
	}
	return names
}

func (l *nameList) has(name string) bool { return slices.Contains(l.names(), name) }

func (l *nameList) withoutReason() (names []string) {
	for _, line := range l.lines {
		if !isComment(line) && len(strings.Fields(line)) < 2 {
			names = append(names, name(line))
		}
	}
	return names
}

func (l *nameList) remove(gone func(name string) bool) {
	l.lines = slices.DeleteFunc(l.lines, func(line string) bool { return !isComment(line) && gone(name(line)) })
}

// set replaces all names, and keeps the comments on top.
func (l *nameList) set(names []string) {
	l.remove(func(string) bool { return true })
	l.lines = append(l.lines, names...)
}

func (l *nameList) write(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(l.path, []byte(strings.Join(l.lines, "\n")+"\n"), 0o644))
}

func prefixed(prefix string, names []string) []string {
	result := make([]string, len(names))
	for i, name := range names {
		result[i] = prefix + name
	}
	return result
}

// without returns the names that are not among others.
func without(names, others []string) (rest []string) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
