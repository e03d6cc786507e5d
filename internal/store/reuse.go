// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"runtime/metrics"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache/internal/identical"
)

// MemoryIsScarce reports whether the runtime's memory limit may be exceeded when all that is in use
// is there twice.
func MemoryIsScarce() bool {
	samples := []metrics.Sample{
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	limit := samples[0].Value.Uint64()
	return limit < math.MaxInt64 && samples[1].Value.Uint64()-samples[2].Value.Uint64() > limit/2
}

// reusable returns the cached object if the received one is identical to it.
func reusable(cached, received any) (any, bool) {
	if cached == nil || !claimUnchanged(cached, received) || !identical.Objects(cached, received) {
		return nil, false
	}
	return cached, true
}

// claimUnchanged reports whether two objects claim to be one, in one version: without that a
// comparison is not worth it.
func claimUnchanged(a, b any) bool {
	before, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	after, err := meta.Accessor(b)
	if err != nil {
		return false
	}
	version, uid := after.GetResourceVersion(), after.GetUID()
	return version != "" && uid != "" && version == before.GetResourceVersion() && uid == before.GetUID()
}
