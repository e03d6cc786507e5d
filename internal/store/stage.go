// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
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

// stage builds the next content of an informer's store from the objects as they arrive, while they
// are in the processor's caches.
//
// Nearly all of its time is spent waiting for memory, because the parts of objects are scattered.
// So objects are handled in blocks, and each pass over a block does one short step for all of its
// objects, so that their cache misses overlap.
type stage struct {
	reader *event.Reader
	reuses bool // identical cached objects are reused
	next   *nextState
	stored *table.Table
	done   func(event.Record) // receives the published list
	lapsed []string           // keys of objects of the next content of which a later state was refused

	undecodable bool // whether an object that cannot be decoded was received

	chunk    int // number of objects at which the block is flushed
	block    table.Block
	versions [table.BlockLen]string // as received
	altered  [table.BlockLen]*event.Origin
	names    [table.BlockLen]struct{ namespace, name string }
	text     []byte
}

// NewStage returns an empty stage for the objects of a store. done receives the published
// list: a ReplacedAll record, for the applier of that store.
func NewStage(r *event.Reader, c *Contents, o event.Staging, reuse bool, done func(event.Record)) *stage {
	s := &stage{reader: r, reuses: reuse, next: newNextState(c, o), stored: c.Table, done: done, chunk: table.BlockLen}
	if c.slow.Load() {
		s.chunk = 1 // one call of each index function shows whether it is slow
	}
	return s
}

func (s *stage) Put(obj any) error {
	if _, bad := obj.(*event.Undecodable); bad {
		s.undecodable = true
	}
	s.block.Objects[s.block.N] = obj
	if s.block.N++; s.block.N == s.chunk {
		s.chunk = table.BlockLen
		return s.flush()
	}
	return nil
}

// flush adds the block to the next content.
func (s *stage) flush() error {
	defer s.block.Reset()
	if err := s.readKeys(); err != nil {
		return err
	}
	s.next.draft.Look(&s.block)
	if s.reader.Transform.Function != nil || s.undecodable {
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

// readKeys reads the keys and versions of the block.
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

// computeKeys is readKeys with the reader's key function.
func (s *stage) computeKeys() (err error) {
	for i := range s.block.N {
		s.versions[i], _ = event.VersionOf(s.block.Objects[i])
		if s.block.Keys[i], err = s.reader.Keys.KeyOf(s.block.Objects[i], false); err != nil {
			return err
		}
	}
	return nil
}

// transform transforms the objects of the block. If cached objects are to stay, it drops those that
// cannot be transformed. It drops those that cannot be decoded.
func (s *stage) transform() error {
	b, n := &s.block, 0
	for i := range b.N {
		rec := event.Record{Type: clientgo.Replaced, Key: b.Keys[i], Version: s.versions[i], Object: b.Objects[i]}
		kept, err := s.reader.PassListed(&rec)
		switch {
		case err == nil:
			b.Keys[n], b.Objects[n], b.Former[n] = rec.Key, rec.Object, b.Former[i]
			s.versions[n], s.altered[n] = rec.Version, rec.Altered
			s.lapsed = without(s.lapsed, rec.Key)
			n++
		case kept:
			s.next.untransformed[rec.Key] = event.OriginOf(b.Objects[i])
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

// reuse replaces objects by identical cached ones.
func (s *stage) reuse() {
	b := &s.block
	for i, cached := range b.Former[:b.N] {
		if cached != nil {
			b.Objects[i] = CachedOr(cached, b.Objects[i])
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
	delete(s.next.untransformed, key)
	s.lapsed = without(s.lapsed, key)
	s.next.remove(key)
	return nil
}

// Keeps returns the number of objects in the store, and of those at most that the published list will not
// remove: where a transform removes UIDs, a refused object may be another one than the cached one.
func (s *stage) Keeps() (kept, stored int, err error) {
	if err := s.flush(); err != nil {
		return 0, 0, err
	}
	current := s.next.draft.Current() // otherwise the former objects are those of an earlier state
	for _, item := range s.next.draft.All {
		is := item.Former != nil
		if !current {
			_, is = s.stored.Get(item.Key)
		}
		if is {
			kept++
		}
	}
	for key, refused := range s.next.untransformed {
		if cached, is := s.stored.Get(key); is && !event.OriginOf(cached).IsOfAnother(refused) && !s.next.draft.Has(key) {
			kept++
		}
	}
	return kept, s.stored.Len(), nil
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
	// Of an object that the draft has, another state was transformed.
	maps.DeleteFunc(next.untransformed, func(key string, _ event.Origin) bool { return next.draft.Has(key) })
	s.reader.Transform.Replaced(slices.AppendSeq(s.lapsed, maps.Keys(next.untransformed)))
	s.done(event.Record{Type: clientgo.ReplacedAll, Version: version, State: next})
	return nil
}

// WarmBlock loads the memory of a block's objects that key and index functions read into the
// caches. An object is a chain of pointers, and a function that follows one waits for memory at
// each step. WarmBlock takes each step for all objects, so that the waits overlap. A Replace of
// 10^5 pods spends two thirds of its time in such waits without it.
//
// It reads only the fields that every typed API object has; of other objects it loads the
// beginning. The result has no meaning: it keeps the compiler from removing the loads.
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

// MemoryIsScarce reports whether the runtime's memory limit may be exceeded if the memory in use
// doubles.
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

// CachedOr returns the cached object if obj is identical to it, otherwise obj.
func CachedOr(cached, obj any) any {
	if claimUnchanged(cached, obj) && identical.Objects(cached, obj) {
		return cached
	}
	return obj
}

// claimUnchanged reports whether two objects have the same UID and version. Otherwise it is not
// worth comparing them.
func claimUnchanged(a, b any) bool {
	before, after := event.OriginOf(a), event.OriginOf(b)
	return before == after && after.Version != "" && after.UID != ""
}
