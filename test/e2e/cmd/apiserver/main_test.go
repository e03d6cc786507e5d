// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

// TestUsualPort checks that a server started again with its folder reuses its port.
func TestUsualPort(t *testing.T) {
	dir := t.TempDir()
	assert.Contains(t, []int{0, 6443}, usualPort(dir))
	require.NoError(t, apiserver.Endpoint{URL: "https://127.0.0.1:12345"}.WriteKubeconfig(dir))
	assert.Equal(t, 12345, usualPort(dir))
}
