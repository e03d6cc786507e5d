// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

func take(any, bool) error { return nil }

func delta(typ cache.DeltaType, obj any) cache.Delta { return cache.Delta{Type: typ, Object: obj} }

func TestPanickingKeyFunction(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, KeyFunction: func(any) (string, error) { panic("no key") }})
	assert.ErrorAs(t, q.Add(testkit.PodAt("a", "1")), &cache.KeyError{})
	assert.ErrorContains(t, q.Replace([]any{testkit.PodAt("a", "1")}, "1"), "key function panicked: no key")
	assert.Zero(t, depthOf(q))
}
