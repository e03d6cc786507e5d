// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestKeySharesTheStringInTheTable(t *testing.T) {
	stored := string([]byte("ns/a"))
	tab := New(nil, Options{})
	tab.Apply([]Op{{Key: stored, Object: 1}, {Key: "", Object: 2}}, nil)
	key, ok := tab.Key([]byte("ns/a"))
	assert.True(t, ok)
	assert.Same(t, unsafe.StringData(stored), unsafe.StringData(key))
	key, ok = tab.Key(nil)
	assert.True(t, ok)
	assert.Empty(t, key)
	_, ok = tab.Key([]byte("ns/b"))
	assert.False(t, ok)
	tab.Apply([]Op{{Key: stored, Delete: true}}, nil)
	_, ok = tab.Key([]byte("ns/a"))
	assert.False(t, ok, "deleted")
	text := []byte("")
	assert.Zero(t, testing.AllocsPerRun(100, func() { tab.Key(text) }))
}
