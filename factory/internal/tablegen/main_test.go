// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNothingFoundIsAnError: generated informers in an unknown form give an error instead of an empty
// table.
func TestNothingFoundIsAnError(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "core", "v1")
	require.NoError(t, os.MkdirAll(other, 0o755))
	for _, file := range []string{filepath.Join(dir, "generic.go"), filepath.Join(other, "pod.go")} {
		require.NoError(t, os.WriteFile(file, []byte("package informers\n"), 0o644))
	}
	_, err := readKinds(dir)
	assert.Error(t, err)
	_, err = renderGroups([]byte("package informers\n"))
	assert.Error(t, err)
}
