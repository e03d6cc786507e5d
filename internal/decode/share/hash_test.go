// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/decode/document"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/testkit"
)

// TestAllOfOneHash checks that objects are decoded correctly, and the table stays consistent, if
// all parts have one hash or one of a few.
func TestAllOfOneHash(t *testing.T) {
	testkit.AtNight(t)
	for _, mask := range []uint64{0, 1, 1 << 40, 6} {
		table := share.NewMasked(mask)
		o := share.Options{Share: share.NewSharing(table)}
		for i := range 2000 {
			// two parts differ in their last byte, others in another byte
			data := fmt.Sprintf(`{"apiVersion":"a/v1","kind":"A","spec":{"texts":["the same","the same",%d]},"status":{"%03d":"the same"}}`, i/2%10, i/2%1000)
			got, err := document.Unstructured([]byte(data), o)
			require.NoError(t, err)
			unshared, err := document.Unstructured([]byte(data), share.Options{})
			require.NoError(t, err)
			require.Equal(t, unshared, got)
		}
		require.NoError(t, table.Check())
		assert.Less(t, table.Status().Entries, int64(10))
		assert.NotZero(t, table.Status().Hits)
	}
}
