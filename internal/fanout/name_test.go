// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPackageOf: a function is named by the path of its package, one of a program by its folder.
func TestPackageOf(t *testing.T) {
	assert.Equal(t, "manager", packageOf("main.main.func1", "/src/cmd/manager/main.go"))
	assert.Equal(t, "gopkg.in/a.v2", packageOf("gopkg.in/a%2ev2.(*T[...]).F", "a.go"))
}
