// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules_test holds what is true of all packages and documents: which names there are, how
// long files and functions are, and that documents lead somewhere. The tests run in the root of the
// module.
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
