// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRecentKeysAreFoundAgain, the same string each time, and there are never more than the bound.
func TestRecentKeysAreFoundAgain(t *testing.T) {
	var recent recentKeys
	first := recent.text([]byte("ns/a"))
	assert.Equal(t, unsafe.StringData(first), unsafe.StringData(recent.text([]byte("ns/a"))))
	for i := range 3 * maxRecentKeys {
		assert.Equal(t, fmt.Sprint(i), recent.text(fmt.Append(nil, i)))
		require.LessOrEqual(t, len(recent.mu.keys), maxRecentKeys)
	}
}
