// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"hash/maphash"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/semantic"
)

// comparison compares one snapshot with the list at its version. Each listed object is looked up in
// the snapshot; the remaining objects of the snapshot are extra. In addition to the snapshot this
// takes a hash for each object, and the findings. A stored object, which is likely not in the CPU
// cache, is read once.
type comparison struct {
	*auditor
	state   *beside.State
	behind  map[string]struct{} // keys of objects that the transform refuses
	seed    maphash.Seed
	stored  []uint64        // hashes of the keys of listed objects that are stored
	kinds   map[string]Kind // the kinds of differences by key
	digest  Digest          // of the objects seen so far; at the end, of the snapshot
	text    []byte          // buffer for digest
	tries   int
	refused int
	foreign int

	findings []Finding // the first ones; sorted by key at the end
	metadata bool
}

func (a *auditor) begin(state *beside.State) *comparison {
	return &comparison{
		auditor: a, state: state, behind: a.Transform.Behind(), seed: maphash.MakeSeed(),
		stored: make([]uint64, 0, state.Len()), kinds: map[string]Kind{},
	}
}

// take compares a listed object.
func (c *comparison) take(listed runtime.Object) error {
	if _, ok := listed.(*metav1.PartialObjectMetadata); ok {
		c.metadata = true
	}
	key, err := cache.MetaNamespaceKeyFunc(listed)
	if err != nil {
		c.foreign++ // an informer refuses a list with such an object
		return nil
	}
	stored, exists := c.state.Get(key)
	server, origin, shown := event.OriginOf(listed), event.Origin{}, false
	if exists {
		if origin, shown = c.state.Origin(key, stored); !shown && origin.Version == server.Version {
			origin = server
		}
		c.look(key, origin)
	}
	if _, refused := c.behind[key]; refused {
		c.refused++
		return nil
	}
	if !exists {
		c.found(Finding{Key: key, Kind: Missing, Listed: server.Version})
		return nil
	}
	switch {
	case origin != server:
		c.found(Finding{Key: key, Kind: Stale, Cached: origin.Version, Listed: server.Version})
	case c.options.Content && shown && !c.sameContent(stored, listed):
		c.found(Finding{Key: key, Kind: Different, Cached: origin.Version, Listed: server.Version})
	}
	return nil
}

// look records an object of the snapshot that is listed.
func (c *comparison) look(key string, origin event.Origin) {
	c.stored = append(c.stored, maphash.String(c.seed, key))
	c.text = c.digest.add(c.text, key, origin)
}

func (c *comparison) found(f Finding) {
	c.kinds[f.Key] = f.Kind
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, f)
	}
}

// ahead reports whether the server does not know the version.
func (c *comparison) ahead() bool { return c.kinds[""] == Ahead }

// end finds extra objects, and computes the digest.
func (c *comparison) end() {
	looks := len(c.stored)
	slices.Sort(c.stored)
	if c.stored = slices.Compact(c.stored); len(c.stored) < c.state.Len() {
		c.findExtra()
	}
	if len(c.stored) == looks && looks == c.state.Len() {
		c.digest.ResourceVersion, c.digest.Objects = c.state.Version(), looks
	} else {
		c.digest = digestOf(c.state)
	}
	slices.SortFunc(c.findings, func(a, b Finding) int { return cmp.Compare(a.Key, b.Key) })
}

func (c *comparison) findExtra() {
	for key, obj := range c.state.All() {
		if _, listed := slices.BinarySearch(c.stored, maphash.String(c.seed, key)); listed {
			continue
		}
		if _, refused := c.behind[key]; refused {
			c.refused++
			continue
		}
		origin, _ := c.state.Origin(key, obj)
		c.found(Finding{Key: key, Kind: Extra, Cached: origin.Version})
	}
}

// counts returns the number of differing objects by kind.
func (c *comparison) counts() map[Kind]int {
	counts := map[Kind]int{}
	for _, kind := range c.kinds {
		counts[kind]++
	}
	return counts
}

// sameContent reports whether the stored object equals the listed one after the transform. It
// returns true if the transform refuses the listed object.
func (c *comparison) sameContent(stored any, listed runtime.Object) bool {
	var want any = listed
	if c.Transform != nil && c.Transform.Function != nil {
		transformed, err := c.Transform.Call(listed.DeepCopyObject())
		if err != nil {
			c.refused++
			return true
		}
		want = transformed
	}
	return semantic.Equal(stored, want) || isSameButForKind(stored, want)
}

// isSameButForKind reports whether two objects differ only in that one of them has no kind: some
// clients set it for events, and not for the items of a list.
func isSameButForKind(stored, want any) bool {
	a, isObject := stored.(runtime.Object)
	b, areBoth := want.(runtime.Object)
	if !isObject || !areBoth {
		return false
	}
	kind, other := a.GetObjectKind().GroupVersionKind(), b.GetObjectKind().GroupVersionKind()
	if kind == other || !kind.Empty() && !other.Empty() {
		return false
	}
	a, b = a.DeepCopyObject(), b.DeepCopyObject()
	a.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	b.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return semantic.Equal(a, b)
}
