// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// claim is a way to say the version of something in a document.
type claim struct {
	of   string
	said *regexp.Regexp // the first group is the version
}

const versionPattern = `(v?\d+\.\d+(?:\.\d+)?)`

var (
	claims = []claim{
		{"client-go", regexp.MustCompile("(?:client-go|tools/cache)`? " + versionPattern)},
		{"controller-runtime", regexp.MustCompile("controller-runtime`? " + versionPattern)},
		{"Go", regexp.MustCompile(`\bGo ` + versionPattern)},
		{"Kubernetes", regexp.MustCompile(`\bKubernetes ` + versionPattern)},
	}
	// row is a line of a table on what goes together.
	row = regexp.MustCompile(`^\| (client-go|controller-runtime|Go)\b[^|]*(\|.*)$`)
	// get is an argument of go get.
	get         = regexp.MustCompile(`([\w.-]+(?:/[\w.-]+)+)@` + versionPattern)
	someVersion = regexp.MustCompile(versionPattern)
)

// checkDocuments: documents name the versions that the go.mod files have. Left out are older
// sections of CHANGELOG.md, and docs/benchmarks, which says itself what was measured.
func (r *release) checkDocuments(context.Context) (string, error) {
	actual, err := r.actual()
	if err != nil {
		return "", err
	}
	files, err := r.documents()
	if err != nil {
		return "", err
	}
	var faults []error
	total := 0
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(r.dir, file))
		if err != nil {
			return "", err
		}
		said := string(text)
		if file == "CHANGELOG.md" {
			said = r.log.sections[r.version]
		}
		count, wrong := r.checkDocument(said, actual)
		total += count
		for _, fault := range wrong {
			faults = append(faults, fmt.Errorf("%s: %s", file, fault))
		}
	}
	return fmt.Sprintf("%d versions in %d files are those of go.mod", total, len(files)), errors.Join(faults...)
}

// actual are the versions of what documents have claims about.
func (r *release) actual() (map[string]string, error) {
	theirs := r.clientGo()
	versions := map[string]string{
		"client-go": theirs, "Go": "v" + r.modules[0].Go.Version,
		"Kubernetes": "v1" + strings.TrimPrefix(semver.MajorMinor(theirs), "v0"),
	}
	for _, m := range r.modules {
		version := m.version("sigs.k8s.io/controller-runtime")
		if known := versions["controller-runtime"]; version != "" && known != "" && version != known {
			return nil, fmt.Errorf("two modules require controller-runtime %s and %s", known, version)
		}
		if version != "" {
			versions["controller-runtime"] = version
		}
	}
	return versions, nil
}

// documents are the files for readers: Markdown, and the documentation of packages.
func (r *release) documents() (files []string, err error) {
	err = filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != r.dir && (ignored(entry.Name()) || entry.Name() == "benchmarks"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md" || entry.Name() == "doc.go":
			file, err := filepath.Rel(r.dir, path)
			files = append(files, filepath.ToSlash(file))
			return err
		}
		return nil
	})
	return files, err
}

// checkDocument returns how many versions a text names, and each that is not the actual one.
func (r *release) checkDocument(text string, actual map[string]string) (count int, wrong []string) {
	judge := func(of, said, want string) {
		count++
		if !agrees(said, want) {
			wrong = append(wrong, fmt.Sprintf("%s %s, and it is %s", of, said, want))
		}
	}
	for line := range strings.Lines(text) {
		if cells := row.FindStringSubmatch(strings.TrimSpace(line)); cells != nil && actual[cells[1]] != "" {
			for _, said := range someVersion.FindAllString(cells[2], -1) {
				judge(cells[1], said, actual[cells[1]])
			}
			continue
		}
		for _, claim := range claims {
			for _, found := range claim.said.FindAllStringSubmatch(line, -1) {
				judge(claim.of, found[1], actual[claim.of])
			}
		}
		r.checkGets(line, judge)
	}
	return count, wrong
}

// checkGets: who gets a module of ours gets this version of it. A line that gets client-go as well
// is about another minor: there both have to be the same.
func (r *release) checkGets(line string, judge func(of, said, want string)) {
	found := get.FindAllStringSubmatch(line, -1)
	want := r.version
	if i := slices.IndexFunc(found, func(get []string) bool { return get[1] == "k8s.io/client-go" }); i >= 0 {
		want = found[i][2]
	}
	for _, get := range found {
		path, _, _ := strings.Cut(get[1], "/cmd/")
		if r.isOurs(path) {
			judge(get[1], get[2], want)
		}
	}
}

// agrees reports whether a document may say said of a version: the version, or its first numbers.
func agrees(said, actual string) bool {
	said, actual = strings.TrimPrefix(said, "v"), strings.TrimPrefix(actual, "v")
	return said == actual || strings.HasPrefix(actual, said+".")
}
