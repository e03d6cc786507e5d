// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/semantic"
)

// Source is one resource of a scripted API server: the objects, the counter of resourceVersions and the
// log of changes. Use it as the ListerWatcher of an informer or a reflector, write to it, and script
// its faults.
//
//	Create ... Delete ──▶ state, tracked handlers ──▶ Settle
//	                  └─▶ log ──▶ a cursor in each stream ──▶ ResultChan
//	Inject, Cut, Bookmark ─▶ log      ▲
//	Script, FailNext ──▶ queue per verb ──▶ the next List or Watch
//
// All methods may be called at any time from any goroutine. Only the Wait methods, Settle, and requests
// that a script delays block.
//
// Writers need no context and return the object as stored. A write that the server would refuse is a
// mistake of the test, not a case to be handled: it panics with the API's error. Only New returns a usable
// Source.
type Source struct {
	opts Options

	// mu is the only lock. It is never held while waiting, and the only functions of the user that are
	// called with it are Options.Version and Options.Fields.
	mu struct {
		sync.Mutex
		rv    uint64
		state map[string]stored
		// keys has the keys of state in order, nil if it must be rebuilt.
		keys    []string
		log     eventLog
		example runtime.Object

		streams map[*stream]struct{}
		stalls  int
		losing  int

		requests   []Request
		faults     map[Verb][]Fault
		outage     error
		partitions int

		// undone has the written objects that a Rewind undid, by key.
		undone map[string][]stored

		tracked []*Tracked
		// unsettled is the number of keys in which tracked handlers differ from state.
		unsettled int

		// changed is notified of each change of anything that a caller of await waits for.
		changed signal
	}
}

// stored is an object of the state, which is immutable, and its Options.Version.
type stored struct {
	obj     runtime.Object
	version string
}

var (
	_ clientgo.ListerWatcher            = (*Source)(nil)
	_ clientgo.ListerWatcherWithContext = (*Source)(nil)
)

// Of returns a source with default options and the given objects.
func Of(objects ...runtime.Object) *Source {
	return New(Options{Objects: objects})
}

// New returns a source. A source for use in a synctest bubble must be made in the bubble.
func New(opts Options) *Source {
	opts.setDefaults()
	s := &Source{opts: opts}
	s.mu.rv = opts.ResourceVersion
	s.mu.log.compacted = opts.ResourceVersion
	s.mu.example = opts.Example
	s.mu.state = map[string]stored{}
	s.mu.undone = map[string][]stored{}
	s.mu.streams = map[*stream]struct{}{}
	s.mu.faults = map[Verb][]Fault{}
	for _, obj := range opts.Objects {
		must(s.put(obj, ifAbsent))
	}
	return s
}

// Create stores a new object, with a UID and a creationTimestamp if it has none. It panics if the
// object exists.
func (s *Source) Create(obj runtime.Object) runtime.Object {
	return s.out(must(s.put(obj, ifAbsent)))
}

// Update replaces an object, regardless of the resourceVersion of the new one. It panics if there is
// none. UID and creationTimestamp are kept, unless the new object has another UID. An update that
// changes nothing is not a write: it gets no version, and no stream delivers it. The same holds for Put
// and Patch.
func (s *Source) Update(obj runtime.Object) runtime.Object {
	return s.out(must(s.put(obj, ifPresent)))
}

// Put creates the object or replaces it.
func (s *Source) Put(obj runtime.Object) runtime.Object {
	return s.out(must(s.put(obj, always)))
}

// Patch applies change to a copy of an object and stores the copy. It panics if there is no such
// object. change may be called again if there are concurrent writes.
func (s *Source) Patch(namespace, name string, change func(obj runtime.Object)) runtime.Object {
	key := joinKey(namespace, name)
	for {
		s.mu.Lock()
		was := s.mu.state[key].obj
		s.mu.Unlock()
		if was == nil {
			panic(apierrors.NewNotFound(resource, key))
		}
		obj := was.DeepCopyObject()
		change(obj)
		if stored, ok := s.swap(key, was, obj); ok {
			return s.out(stored)
		}
	}
}

// PatchAs is Patch for objects of type T.
func PatchAs[T runtime.Object](s *Source, namespace, name string, change func(obj T)) T {
	return s.Patch(namespace, name, func(obj runtime.Object) { change(obj.(T)) }).(T)
}

// Delete removes an object. It panics if there is none. It returns the object of the DELETED event: the
// last state, with the resourceVersion of the deletion.
func (s *Source) Delete(namespace, name string) runtime.Object {
	return s.out(must(s.remove(joinKey(namespace, name))))
}

// Get returns the object, or nil if there is none.
func (s *Source) Get(namespace, name string) runtime.Object {
	s.mu.Lock()
	obj := s.mu.state[joinKey(namespace, name)].obj
	s.mu.Unlock()
	if obj == nil {
		return nil
	}
	return s.out(obj)
}

// Versions returns the resourceVersions of the state, by key ("namespace/name", or "name").
func (s *Source) Versions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := make(map[string]string, len(s.mu.state))
	for key, stored := range s.mu.state {
		versions[key] = accessor(stored.obj).GetResourceVersion()
	}
	return versions
}

// ResourceVersion returns the counter: the version of the last write or Tick.
func (s *Source) ResourceVersion() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.rv
}

// Tick advances the counter, as a write to another resource of the same server does, and returns it.
func (s *Source) Tick() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rv++
	return s.mu.rv
}

// Compact removes the log up to and including rv: a watch or an exact list from before rv, and the rest
// of a paged list that began before it, get a 410. Open streams continue: to end one with a 410, Inject
// ErrorEvent(Expired()) and Cut.
func (s *Source) Compact(rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inUse := s.mu.log.next
	for w := range s.mu.streams {
		inUse = min(inUse, w.next)
	}
	s.mu.log.compact(min(rv, s.mu.rv), inUse)
}

// precondition returns an error if a write must not happen.
type precondition func(key string, exists bool) error

func always(string, bool) error { return nil }

func ifAbsent(key string, exists bool) error {
	if exists {
		return apierrors.NewAlreadyExists(resource, key)
	}
	return nil
}

func ifPresent(key string, exists bool) error {
	if !exists {
		return apierrors.NewNotFound(resource, key)
	}
	return nil
}

// put stores obj, and returns the stored object.
func (s *Source) put(obj runtime.Object, allowed precondition) (runtime.Object, error) {
	m := accessor(obj)
	key := keyOf(m)
	if m.GetName() == "" {
		return nil, nameless(obj)
	}
	if !s.opts.Share {
		obj = obj.DeepCopyObject()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.mu.state[key]
	if err := allowed(key, exists); err != nil {
		return nil, err
	}
	if exists {
		return s.updateLocked(key, obj), nil
	}
	return s.commitLocked(watch.Added, key, obj), nil
}

// updateLocked replaces the object at key with obj, which the source owns, and returns the stored
// object.
func (s *Source) updateLocked(key string, obj runtime.Object) runtime.Object {
	was := s.mu.state[key].obj
	before, after := accessor(was), accessor(obj)
	after.SetResourceVersion(before.GetResourceVersion())
	keepIdentity(before, after)
	if !s.opts.Share && semantic.Equal(was, obj) {
		return was
	}
	return s.commitLocked(watch.Modified, key, obj)
}

// keepIdentity copies UID and creation time to an update. An update with its own UID is another object
// at the same key, and may have its own time.
func keepIdentity(before, after metav1.Object) {
	if after.GetUID() == "" {
		after.SetUID(before.GetUID())
	}
	if created := after.GetCreationTimestamp(); created.IsZero() || after.GetUID() == before.GetUID() {
		after.SetCreationTimestamp(before.GetCreationTimestamp())
	}
}

// giveIdentity sets the UID of a new object, which rv determines, and its creation time, in the seconds
// that a server stores, unless the object has them.
func giveIdentity(m metav1.Object, rv uint64) {
	if m.GetUID() == "" {
		m.SetUID(uidOf(rv))
	}
	if created := m.GetCreationTimestamp(); created.IsZero() {
		m.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	}
}

// uidOf returns a UID that is distributed as those of a server, so that shards have about as many
// objects each.
func uidOf(rv uint64) types.UID {
	b := sha256.Sum256([]byte(formatRV(rv)))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16]))
}

// remove deletes an object, and returns the object of its DELETED event.
func (s *Source) remove(key string) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, exists := s.mu.state[key]
	if err := ifPresent(key, exists); err != nil {
		return nil, err
	}
	return s.commitLocked(watch.Deleted, key, was.obj.DeepCopyObject()), nil
}

// swap replaces the object was with obj unless another writer has replaced it.
func (s *Source) swap(key string, was, obj runtime.Object) (runtime.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state[key].obj != was {
		return nil, false
	}
	return s.updateLocked(key, obj), true
}

// commitLocked sets the next resourceVersion of obj, which the source owns, and adds the write to the
// state and the log.
func (s *Source) commitLocked(typ watch.EventType, key string, obj runtime.Object) runtime.Object {
	s.mu.rv++
	was := s.mu.state[key].obj
	m := accessor(obj)
	m.SetResourceVersion(formatRV(s.mu.rv))
	if typ == watch.Added {
		giveIdentity(m, s.mu.rv)
	}
	if s.mu.example == nil {
		s.mu.example = obj
	}
	if typ == watch.Deleted {
		s.storeLocked(key, nil)
	} else {
		s.storeLocked(key, obj)
	}
	s.appendLocked(entry{
		kind: change, event: watch.Event{Type: typ, Object: obj}, key: key, prev: was, lost: s.mu.losing > 0,
	})
	return obj
}

// storeLocked sets the state of key to obj, or removes key if obj is nil.
func (s *Source) storeLocked(key string, obj runtime.Object) {
	_, had := s.mu.state[key]
	if had != (obj != nil) {
		s.mu.keys = nil
	}
	if obj == nil {
		delete(s.mu.state, key)
	} else {
		s.mu.state[key] = stored{obj: obj, version: s.opts.Version(accessor(obj))}
	}
	for _, t := range s.mu.tracked {
		t.compareLocked(key)
	}
	s.mu.changed.notify()
}

// appendLocked adds e to the log at the current counter, and wakes the streams.
func (s *Source) appendLocked(e entry) {
	e.rv = s.mu.rv
	s.mu.log.append(e)
	s.mu.changed.notify()
}

// keysLocked returns the keys of the state in order. The result must not be modified.
func (s *Source) keysLocked() []string {
	if s.mu.keys == nil {
		s.mu.keys = slices.Sorted(maps.Keys(s.mu.state))
	}
	return s.mu.keys
}

// out returns the copy of a stored object for a caller.
func (s *Source) out(obj runtime.Object) runtime.Object {
	if s.opts.Share {
		return obj
	}
	return obj.DeepCopyObject()
}

// await waits until holds returns true. holds is called with the lock held.
func (s *Source) await(ctx context.Context, holds func() bool) error {
	err := s.lockWhen(ctx, holds)
	if err == nil {
		s.mu.Unlock()
	}
	return err
}

// lockWhen is await, except that the lock is held if it returns nil.
func (s *Source) lockWhen(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		if holds() {
			return nil
		}
		changed := s.mu.changed.wait()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// signal is a channel that is closed at the next call of notify. It has no lock.
type signal struct{ next chan struct{} }

func (s *signal) wait() <-chan struct{} {
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

func (s *signal) notify() {
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

func must(obj runtime.Object, err error) runtime.Object {
	if err != nil {
		panic(err)
	}
	return obj
}
