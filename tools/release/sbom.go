// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// unknown is what SPDX has for what nobody has asserted.
const unknown = "NOASSERTION"

// writeBill prints the published modules and what they link, as a bill of materials in SPDX.
func (r *release) writeBill(ctx context.Context, out io.Writer, now time.Time) error {
	bill := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      r.root + " " + r.version,
		DocumentNamespace: "https://" + r.root + "/spdx/" + r.version,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: r.root + "/tools/release"}},
			Created:  now.UTC().Format(time.RFC3339),
		},
	}
	for _, folder := range r.folders() {
		m := r.module(folder)
		bill.Packages = append(bill.Packages, packageOf(m.Path, m.Version, []string{"Apache-2.0"}))
		relate(bill, "DOCUMENT", "DESCRIBES", elementOf(m.Path))
		dependencies, err := r.dependenciesOf(ctx, folder)
		if err != nil {
			return err
		}
		for _, d := range dependencies {
			if err := addDependency(bill, elementOf(m.Path), d); err != nil {
				return err
			}
		}
	}
	return spdxjson.Write(bill, out, spdxjson.Indent("  "))
}

// addDependency adds a module, if it is not there yet, and who links it.
func addDependency(bill *spdx.Document, by common.ElementID, d dependency) error {
	element := elementOf(d.path)
	relate(bill, by, "DEPENDS_ON", element)
	for _, known := range bill.Packages {
		if known.PackageSPDXIdentifier == element {
			return nil
		}
	}
	ids, err := licencesIn(d.dir)
	if err != nil {
		return fmt.Errorf("%s %s: %w", d.path, d.version, err)
	}
	bill.Packages = append(bill.Packages, packageOf(d.path, d.version, ids))
	return nil
}

func relate(bill *spdx.Document, from common.ElementID, what string, to common.ElementID) {
	bill.Relationships = append(bill.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from)), Relationship: what, RefB: common.MakeDocElementID("", string(to)),
	})
}

// packageOf describes a module. What was found of licences stands as declared: nobody has looked at
// each file.
func packageOf(path, version string, licences []string) *spdx.Package {
	return &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: elementOf(path), PackageVersion: version,
		PackageDownloadLocation: "https://proxy.golang.org/" + path + "/@v/" + version + ".zip",
		PackageLicenseConcluded: unknown, PackageLicenseDeclared: strings.Join(licences, " AND "), PackageCopyrightText: unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{
			{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + version},
		},
	}
}

var notInElement = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// elementOf names a module in a bill.
func elementOf(path string) common.ElementID {
	return common.ElementID("module-" + notInElement.ReplaceAllString(path, "-"))
}
