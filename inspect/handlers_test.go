// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestHandlerIsOneLine: String returns the figures of a handler in one line.
func TestHandlerIsOneLine(t *testing.T) {
	h := Handler{Name: "internal/source.EventHandler#2", State: "idle"}
	assert.Equal(t, "internal/source.EventHandler#2: idle, 0 pending, 0 calls", h.String())
	h.State, h.Calling, h.Oldest, h.Pending = HandlerStuck, 12*time.Second, 13*time.Second, 5
	h.Delivered, h.Busy, h.Longest, h.Coalesced = 1, 7*time.Microsecond, 7*time.Microsecond, 3
	h.SyncError = errors.New("it was removed")
	assert.Equal(t, "internal/source.EventHandler#2: stuck in a call for 12s, about a change of 13s ago, 5 pending, 1 call in 7µs, the longest 7µs, "+
		"3 changes merged; it never syncs: it was removed", h.String())
}
