// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// TestBillOfThisTree: each published module is described and depends on what it links, once, with
// a licence; the nested ones depend on what they add, and the root does not.
func TestBillOfThisTree(t *testing.T) {
	var text strings.Builder
	if err := thisTree(t).writeBill(t.Context(), &text, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	var bill spdx.Document
	if err := spdxjson.ReadInto(strings.NewReader(text.String()), &bill); err != nil {
		t.Fatal(err)
	}
	licences := map[common.ElementID]string{}
	for _, p := range bill.Packages {
		if licences[p.PackageSPDXIdentifier] != "" {
			t.Errorf("%s is there twice", p.PackageName)
		}
		licences[p.PackageSPDXIdentifier] = p.PackageLicenseDeclared
	}
	linked := map[[2]common.ElementID]bool{}
	for _, r := range bill.Relationships {
		linked[[2]common.ElementID{r.RefA.ElementRefID, r.RefB.ElementRefID}] = true
		if licences[r.RefB.ElementRefID] == "" {
			t.Errorf("%s is no package with a licence", r.RefB.ElementRefID)
		}
	}
	root := elementOf("github.com/kinformer/cache")
	prom, client := elementOf("github.com/kinformer/cache/kinformerprom"), elementOf("github.com/prometheus/client_golang")
	for pair, want := range map[[2]common.ElementID]bool{
		{"DOCUMENT", root}: true, {"DOCUMENT", prom}: true, {root, elementOf("k8s.io/client-go")}: true,
		{prom, client}: true, {root, client}: false, {root, elementOf("pgregory.net/rapid")}: false,
	} {
		if linked[pair] != want {
			t.Errorf("%s is linked by %s: %v", pair[1], pair[0], !want)
		}
	}
}
