// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestNestedPartsAreLookedForOnce checks that the work for a document is bounded by a multiple of
// its length, however deeply a long text is nested.
func TestNestedPartsAreLookedForOnce(t *testing.T) {
	const most = 16 // lookups, in bytes, per byte of the document
	nested := `{"apiVersion":"a/v1","kind":"A","spec":` + strings.Repeat("[", scan.Deepest-1) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat("]", scan.Deepest-1) + `}`
	d := begin([]byte(nested), share.Options{Share: share.NewSharing(share.NewParts(0))})
	_, ok := d.whole(nil)
	assert.True(t, ok)
	assert.LessOrEqual(t, d.Looked, most*len(nested))
	assert.Greater(t, d.Looked, len(nested))
	require.NoError(t, d.finish(true))
}

// TestDecoderForgets checks that a decoder in the pool keeps no reference to the last document.
func TestDecoderForgets(t *testing.T) {
	d := begin([]byte(`["a",{"b":"c","d":["e",`), share.Options{})
	_, ok := d.Value()
	require.False(t, ok)
	require.Error(t, d.finish(false))
	assert.Nil(t, d.Data)
	for _, p := range d.members[:cap(d.members)] {
		assert.Zero(t, p)
	}
	for _, v := range d.values[:cap(d.values)] {
		assert.Nil(t, v)
	}
}
