// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestPartsAreLookedForOften checks that a pod needs at most half of the permitted lookups.
func TestPartsAreLookedForOften(t *testing.T) {
	const most = 16 // lookups, in bytes, per byte of the document
	data, err := os.ReadFile("../testdata/pod.json")
	require.NoError(t, err)
	plan, err := PlanOf(reflect.TypeFor[corev1.Pod](), nil)
	require.NoError(t, err)
	d := newDecoder(data, share.Options{Share: share.NewSharing(share.NewParts(0))})
	assert.True(t, plan.root.json(d, mem.In(new(corev1.Pod))))
	assert.Greater(t, d.Looked, len(data))
	assert.Less(t, d.Looked, most*len(data)/2, "enough for what there is")
	require.NoError(t, d.release(true))
}
