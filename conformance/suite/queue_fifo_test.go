// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFIFO(t *testing.T) {
	onEach(t, []queueCase{
		{"hands out the newest object of each key", fifoNewest},
		{"deletes are not handed out", fifoDeletes},
		{"Replace drops what was queued", fifoReplace},
		{"deleted items of the first list count as processed", fifoInitialDeletes},
		{"Resync adds nothing", fifoResync},
	})
}

func fifoNewest(t *testing.T, impl implementation) {
	q := impl.queues.fifo(keyOrRefuse)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Update(pod("a", "3")))
	assert.Equal(t, []string{"a@3", "b@2"}, drain(t, q))
}

func fifoDeletes(t *testing.T, impl implementation) {
	q := impl.queues.fifo(keyOrRefuse)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Delete(pod("a", "3")))
	require.NoError(t, q.Delete(pod("absent", "4")))
	assert.Equal(t, []string{"b@2"}, drain(t, q))
}

func fifoReplace(t *testing.T, impl implementation) {
	q := impl.queues.fifo(keyOrRefuse)
	require.NoError(t, q.Add(pod("old", "1")))
	require.NoError(t, q.Replace([]any{pod("a", "2"), pod("a", "3")}, "3"))
	require.Error(t, q.Replace([]any{pod("b", "4"), "junk"}, "4"))
	assert.Equal(t, []string{"a@3"}, drain(t, q))
}

func fifoInitialDeletes(t *testing.T, impl implementation) {
	q := impl.queues.fifo(keyOrRefuse)
	require.NoError(t, q.Replace([]any{pod("a", "1")}, "1"))
	require.NoError(t, q.Delete(pod("a", "2")))
	assert.False(t, q.HasSynced())
	require.NoError(t, q.Add(pod("b", "3")))
	assert.Equal(t, "b@3", pop(t, q).what)
	assert.True(t, q.HasSynced())
}

func fifoResync(t *testing.T, impl implementation) {
	q := impl.queues.fifo(keyOrRefuse)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Resync())
	assert.Equal(t, []string{"a@1"}, drain(t, q))
}
