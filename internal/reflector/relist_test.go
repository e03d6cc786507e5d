// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/internal/tap"
)

// TestBecause: a relist request is the reason for the end of a watch, except for ends that must be
// reported.
func TestBecause(t *testing.T) {
	ctx, relister := t.Context(), &Relister{}
	assert.Equal(t, errStopped, relister.because(ctx, errStopped))
	relister.Relist()
	assert.Equal(t, errAsked, relister.because(ctx, errStopped))
	assert.Equal(t, errAsked, relister.because(ctx, errClosed))
	doubt, resync := &tap.Doubt{Why: "as the test wants"}, &resyncError{cause: errClosed}
	assert.Equal(t, error(doubt), relister.because(ctx, doubt))
	assert.Equal(t, error(resync), relister.because(ctx, resync))
	wanted, newest := relister.begins()
	assert.True(t, wanted)
	assert.False(t, newest)
	assert.Equal(t, errStopped, relister.because(ctx, errStopped))
}

// TestRelistNewest: only a list that begins after a call answers it.
func TestRelistNewest(t *testing.T) {
	relister := &Relister{}
	relister.begins()
	relister.answered()()
	before := relister.RelistNewest()
	assert.False(t, before())
	_, newest := relister.begins()
	assert.True(t, newest)
	meanwhile := relister.RelistNewest()
	relister.answered()()
	assert.True(t, before())
	assert.False(t, meanwhile())
	assert.True(t, relister.isWanted())
	_, newest = relister.begins()
	assert.True(t, newest)
	relister.answered()()
	assert.True(t, meanwhile())
	_, newest = relister.begins()
	assert.False(t, newest)
}
