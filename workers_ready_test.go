// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReadyListStaysSmall: under a load that lasts there is always somebody ready. The list takes as much memory as it has
// couriers, however many it had before.
func TestReadyListStaysSmall(t *testing.T) {
	const couriers = 64
	w := &workers{}
	var all [couriers]courier
	for i := range all {
		w.await(&all[i])
	}
	for i := range 100 * couriers {
		next := w.take()
		assert.Same(t, &all[i%couriers], next, "who is ready for longest")
		if i%3 == 0 {
			w.await(next)
		} else {
			w.standing = append(w.standing, next)
			w.rouse()
		}
	}
	assert.LessOrEqual(t, cap(w.ready), 4*couriers)
	for range couriers {
		assert.NotNil(t, w.take())
	}
	assert.Nil(t, w.take())
	for _, left := range w.ready[:cap(w.ready)] {
		assert.Nil(t, left, "holds nobody who is not ready")
	}
}
