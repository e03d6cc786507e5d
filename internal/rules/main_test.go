// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules_test checks rules for all packages and documents: the exported names, the length of
// files and functions, and the links of documents. The tests run in the root of the module.
package rules_test

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
