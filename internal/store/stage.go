// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"runtime/metrics"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/identical"
	"github.com/kinformer/cache/internal/table"
)

// stage is the stage of an informer: it makes the store's next state of the objects as they
// come, while they are in the processor's caches.
//
// Nearly all of the time goes into waiting for the memory that objects are scattered over. So they
// are handled in blocks, and each pass over a block does one short thing with all of its objects,
// so that their waits overlap.
type stage struct {
	reader *event.Reader
	reuses bool // cached objects take the place of identical ones
	next   *nextState
	done   func(event.Record) // takes the state that is published
	lapsed []string           // keys of objects of the next state of which a later one was refused

	chunk    int // how many objects fill the block
	block    table.Block
	versions [table.BlockLen]string // as received
	altered  [table.BlockLen]*event.Origin
	names    [table.BlockLen]struct{ namespace, name string }
	text     []byte
}

// NewStage returns an empty stage of about size objects for a store. done takes what is
// published: a ReplacedAll, for the applier of that store.
func NewStage(r *event.Reader, c *Contents, size int, reuse bool, done func(event.Record)) *stage {
	s := &stage{reader: r, reuses: reuse, next: newNextState(c, size), done: done, chunk: table.BlockLen}
	if !c.AllowsReader(1) {
		s.chunk = 1 // one call of each index function shows whether it is slow
	}
	return s
}

// Distrust has objects that are not identical to the cached ones count as news, whatever their
// versions say. Those that are, in the same version, are not told to handlers at all.
func (s *stage) Distrust() { s.next.distrust = true }

// WhenStored has a function called once the published state is in the store.
func (s *stage) WhenStored(stored func()) { s.next.stored = stored }

func (s *stage) Put(obj any) error {
	s.block.Objects[s.block.N] = obj
	if s.block.N++; s.block.N == s.chunk {
		s.chunk = table.BlockLen
		return s.flush()
	}
	return nil
}

// flush brings the block into the next state.
func (s *stage) flush() error {
	defer s.block.Reset()
	if err := s.readKeys(); err != nil {
		return err
	}
	s.next.draft.Look(&s.block)
	if s.reader.Transform.Function != nil {
		if err := s.transform(); err != nil {
			return err
		}
	}
	if s.reuses {
		s.reuse()
	}
	s.next.file(&s.block, s.versions[:], s.altered[:])
	return nil
}

// readKeys reads keys and versions of the block.
func (s *stage) readKeys() error {
	if !s.reader.Keys.Usual {
		return s.computeKeys()
	}
	n, size := s.block.N, 0
	WarmBlock(s.block.Objects[:n])
	for i, obj := range s.block.Objects[:n] {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return s.computeKeys()
		}
		s.versions[i] = accessor.GetResourceVersion()
		s.names[i].namespace, s.names[i].name = accessor.GetNamespace(), accessor.GetName()
		size += len(s.names[i].namespace) + 1 + len(s.names[i].name)
	}
	s.text = slices.Grow(s.text[:0], size)
	for i := range s.names[:n] {
		if s.names[i].namespace == "" {
			s.block.Keys[i] = s.names[i].name
			continue
		}
		first := len(s.text)
		s.text = append(append(append(s.text, s.names[i].namespace...), '/'), s.names[i].name...)
		s.block.Text[i] = s.text[first:]
	}
	clear(s.names[:n])
	return nil
}

// computeKeys is readKeys by the reader's key function.
func (s *stage) computeKeys() (err error) {
	for i := range s.block.N {
		s.versions[i], _ = event.VersionOf(s.block.Objects[i])
		if s.block.Keys[i], err = s.reader.Keys.KeyOf(s.block.Objects[i], false); err != nil {
			return err
		}
	}
	return nil
}

// transform transforms the objects of the block, and leaves out those that cannot be, if the cached
// ones are to stay.
func (s *stage) transform() error {
	b, n := &s.block, 0
	for i := range b.N {
		rec := event.Record{Type: clientgo.Replaced, Key: b.Keys[i], Version: s.versions[i], Object: b.Objects[i]}
		err := s.reader.PassListed(&rec)
		switch {
		case err == nil:
			b.Keys[n], b.Objects[n], b.Former[n] = rec.Key, rec.Object, b.Former[i]
			s.versions[n], s.altered[n] = rec.Version, rec.Altered
			s.lapsed = without(s.lapsed, rec.Key)
			n++
		case s.reader.Transform.KeepCached:
			event.ReportTo(s.reader.Logger, event.Discreet(err),
				"Object of a list keeps its cached version: transform failed", "key", rec.Key)
			s.next.kept = append(s.next.kept, rec.Key)
			if s.next.draft.Has(rec.Key) || slices.Contains(b.Keys[:n], rec.Key) {
				s.lapsed = append(without(s.lapsed, rec.Key), rec.Key)
			}
		default:
			return err
		}
	}
	b.Cut(n)
	return nil
}

// reuse puts cached objects in the place of identical ones.
func (s *stage) reuse() {
	b := &s.block
	for i, cached := range b.Former[:b.N] {
		if cached != nil && claimUnchanged(cached, b.Objects[i]) && identical.Objects(cached, b.Objects[i]) {
			b.Objects[i] = cached
		}
	}
}

func (s *stage) Remove(obj any) error {
	if err := s.flush(); err != nil {
		return err
	}
	key, err := s.reader.Keys.KeyOf(obj, false)
	if err != nil {
		return err
	}
	s.next.kept, s.lapsed = without(s.next.kept, key), without(s.lapsed, key)
	s.next.remove(key)
	return nil
}

func without(keys []string, key string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { return k == key })
}

func (s *stage) Publish(version string) error {
	if err := s.flush(); err != nil {
		return err
	}
	next := s.next
	s.next = nil
	next.kept = slices.DeleteFunc(next.kept, next.draft.Has) // another state of theirs could be transformed
	s.reader.Transform.Replaced(slices.Concat(next.kept, s.lapsed))
	s.done(event.Record{Type: clientgo.ReplacedAll, Version: version, State: next})
	return nil
}

// WarmBlock loads what key and index functions are going to look at in the objects of a block. An
// object is a chain of pointers, and a function that follows one waits for memory at each step;
// here each step is taken for all objects, so that they wait together. A Replace of 10^5 pods
// spends two thirds of its time in such waits without it.
//
// It only looks at what every typed API object has; of others it loads the beginning. The number
// that it returns means nothing: it keeps the compiler from leaving out the loads.
//
//go:noinline
func WarmBlock(objects []any) (sum int) {
	var metas [table.BlockLen]*metav1.ObjectMeta
	for _, obj := range objects {
		sum += int(table.Warm(obj))
	}
	n := 0
	for _, obj := range objects {
		if accessor, ok := obj.(metav1.ObjectMetaAccessor); ok && !event.IsNil(obj) {
			if m, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta); ok {
				metas[n] = m
				n++
			}
		}
	}
	for _, m := range metas[:n] {
		sum += firstByte(m.Name) + firstByte(m.Namespace)
		if len(m.OwnerReferences) > 0 {
			sum += len(m.OwnerReferences[0].UID)
		}
	}
	for _, m := range metas[:n] {
		if len(m.OwnerReferences) > 0 {
			owner := &m.OwnerReferences[0]
			sum += firstByte(string(owner.UID))
			if owner.Controller != nil && *owner.Controller {
				sum++
			}
		}
	}
	return sum
}

func firstByte(s string) int {
	if s == "" {
		return 0
	}
	return int(s[0])
}

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

// claimUnchanged reports whether two objects claim to be one, in one version: without that a
// comparison is not worth it.
func claimUnchanged(a, b any) bool {
	before, after := event.OriginOf(a), event.OriginOf(b)
	return before == after && after.Version != "" && after.UID != ""
}
