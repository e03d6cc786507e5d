// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestLicencesOf(t *testing.T) {
	const (
		mit    = "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software"
		apache = "Apache License\n  Version 2.0, January 2004"
		bsd    = "Redistributions of source code must retain the above ... Redistributions in binary form must reproduce"
	)
	for text, want := range map[string][]string{
		mit:                                  {"MIT"},
		apache:                               {"Apache-2.0"},
		apache + "\n" + mit:                  {"Apache-2.0", "MIT"},
		bsd:                                  {"BSD-2-Clause"},
		bsd + " * Neither the name of X nor": {"BSD-3-Clause"},
	} {
		ids, err := licencesOf(text)
		complains(t, err)
		if !slices.Equal(ids, want) {
			t.Errorf("%q: %v", text, ids)
		}
	}
	_, err := licencesOf("GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991")
	complains(t, err, `speaks of "GNU"`)
	_, err = licencesOf(apache + "\nCommons Clause License Condition v1.0")
	complains(t, err, "Commons Clause")
	_, err = licencesOf("All rights reserved.")
	complains(t, err, "none that we know")
}

func TestLicencesIn(t *testing.T) {
	dir := t.TempDir()
	_, err := licencesIn(dir)
	complains(t, err, "no LICENSE file")
	writeFile(t, filepath.Join(dir, "LICENSE.txt"), "Permission is hereby granted, free of charge, to any person obtaining a copy")
	ids, err := licencesIn(dir)
	complains(t, err)
	if !slices.Equal(ids, []string{"MIT"}) {
		t.Error(ids)
	}
	writeFile(t, filepath.Join(dir, "COPYING"), "GNU LESSER GENERAL PUBLIC LICENSE")
	_, err = licencesIn(dir)
	complains(t, err, "GNU")
}
