// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"math"
	"runtime/metrics"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache/internal/identical"
)

// ReuseMode is when an informer that takes over the whole state again keeps the objects that it has in place of identical
// ones that it receives. These are garbage at once then, so that a relist does not double the memory; but each takes a deep
// comparison, of 5 to 20 µs for a pod, a tenth to a third of what it costs to decode it.
//
// An object that says of itself, by UID and resourceVersion, that it is unchanged is still compared: a server that was
// upgraded may send other content under the same version. Handlers hear the same either way, but for an update that says
// nothing new the old and the new object are one. Two ways to write one resource.Quantity, as "100m" and "+100m", count as
// identical.
//
// Comparing reads the cached objects, in a goroutine of the informer. Programs that write to cached objects, which nobody
// may, get away with it less often.
type ReuseMode string

const (
	// ReuseAuto: if the Go runtime has a memory limit (GOMEMLIMIT) of which more than half is in use when a relist begins,
	// for without one the garbage collector lets the heap grow to the double anyhow.
	ReuseAuto ReuseMode = ""
	// ReuseAlways: in every relist.
	ReuseAlways ReuseMode = "always"
	// ReuseNever: what is received is stored.
	ReuseNever ReuseMode = "never"
)

// WithReuse sets when a relist keeps cached objects in place of identical ones. The default is ReuseAuto.
func WithReuse(mode ReuseMode) Option {
	return func(c *informerConfig) { c.reuse = mode }
}

// wanted reports whether the relist that begins now is to keep what is identical.
func (m ReuseMode) wanted() bool {
	switch m {
	case ReuseAlways:
		return true
	case ReuseNever:
		return false
	default:
		return memoryIsScarce()
	}
}

// memoryIsScarce reports whether the runtime's memory limit may be exceeded when all that is in use
// is there twice.
func memoryIsScarce() bool {
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
