// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/transport"
	"github.com/kinformer/cache/inspect"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := transport.Verify(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// checkDecoding reports an error if a synced informer of kinformer does not decode directly although it
// should, or decodes wrongly.
func checkDecoding(t *testing.T, informer interface{ HasSyncedChecker() cache.DoneChecker }) {
	t.Helper()
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	d := status.Decoding
	if !transport.Tapped() {
		assert.False(t, d.On)
		return
	}
	t.Logf("decoded directly: %d, by both: %d, given up: %v", d.Direct, d.Verified.Objects, d.GivenUp)
	assert.True(t, d.On, d.Why)
	assert.NotZero(t, d.Direct+d.Verified.Objects)
	assert.Zero(t, d.Verified.Differences)
}
