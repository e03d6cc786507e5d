// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReadyListStaysSmall: under a load that lasts there is always somebody ready. The list takes
// as much memory as it has consumers, however many it had before.
func TestReadyListStaysSmall(t *testing.T) {
	const consumers = 64
	w := &pool{}
	var all [consumers]consumer
	for i := range all {
		w.push(&all[i])
	}
	for i := range 100 * consumers {
		next := w.pop()
		assert.Same(t, &all[i%consumers], next, "who is ready for longest")
		if i%3 == 0 {
			w.push(next)
		} else {
			w.idle = append(w.idle, next)
			w.pushIdle()
		}
	}
	assert.LessOrEqual(t, cap(w.ready), 4*consumers)
	for range consumers {
		assert.NotNil(t, w.pop())
	}
	assert.Nil(t, w.pop())
	for _, left := range w.ready[:cap(w.ready)] {
		assert.Nil(t, left, "holds nobody who is not ready")
	}
}
