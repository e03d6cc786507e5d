// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnsafeIsInOneFile: what the race detector and checkptr have to be trusted with is read at
// once.
func TestUnsafeIsInOneFile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var users []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imported := range file.Imports {
			if imported.Path.Value == `"unsafe"` && !strings.HasSuffix(name, "_test.go") {
				users = append(users, name)
			}
		}
	}
	assert.Equal(t, []string{"memory.go"}, users)
}
