// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// changelog is CHANGELOG.md, by its headings of the second level.
type changelog struct {
	versions []string // in the order of the file, the latest first
	sections map[string]string
}

func parseChangelog(text string) *changelog {
	log := &changelog{sections: map[string]string{}}
	version := ""
	for line := range strings.Lines(text) {
		if heading, found := strings.CutPrefix(line, "## "); found {
			version = strings.TrimSpace(heading)
			log.versions = append(log.versions, version)
		} else if version != "" {
			log.sections[version] += line
		}
	}
	return log
}

// checkChangelog: the first section is of this version, and says where what differs is listed.
func (r *release) checkChangelog(context.Context) (string, error) {
	if len(r.log.versions) == 0 || r.log.versions[0] != r.version {
		return "", fmt.Errorf("the first section of CHANGELOG.md has to be %q", "## "+r.version)
	}
	section := r.log.sections[r.version]
	var faults []error
	if strings.TrimSpace(section) == "" {
		faults = append(faults, errors.New("the section is empty"))
	}
	if !strings.Contains(section, "](docs/migration.md") {
		faults = append(faults, errors.New("the section has to link docs/migration.md, which lists what differs"))
	}
	return fmt.Sprintf("%d lines on %s", strings.Count(strings.TrimSpace(section), "\n")+1, r.version), errors.Join(faults...)
}

// relativeLink is a link of Markdown into the repository.
var relativeLink = regexp.MustCompile(`\]\(([\w./-]+(?:#[\w-]+)?)\)`)

// notes are what CHANGELOG.md has on this version, with links that lead there from anywhere.
func (r *release) notes() string {
	section := strings.TrimSpace(r.log.sections[r.version]) + "\n"
	return relativeLink.ReplaceAllString(section, "](https://"+r.root+"/blob/"+r.version+"/$1)")
}
