// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache"
)

// version is what tells one state of an object from another.
type version struct {
	uid types.UID
	rv  uint64
}

// contents maps keys to the state of the objects.
type contents map[string]version

// replica is a handler that keeps its own copy from what it is told, and writes down everything it must not be told:
// an Add of what it has, an Update or Delete of what it has not, a state that is older than the last one of that object,
// an Update whose old state is not the last one.
type replica struct {
	mu      sync.Mutex
	objects contents
	faults  []string
	told    int
	changed chan struct{} // holds an element after each change
}

func newReplica() *replica {
	return &replica{objects: contents{}, changed: make(chan struct{}, 1)}
}

func (r *replica) OnAdd(obj any, _ bool) {
	r.hear(obj, func(key string, now, last version, known bool) {
		if known {
			r.fault("Add of %s at %d, known at %d", key, now.rv, last.rv)
		}
		r.objects[key] = now
	})
}

func (r *replica) OnUpdate(old, obj any) {
	_, before := stateOf(old)
	r.hear(obj, func(key string, now, last version, known bool) {
		switch {
		case !known:
			r.fault("Update of unknown %s at %d", key, now.rv)
		case last != before:
			r.fault("Update of %s from %v, last told %v", key, before, last)
		case now.rv < last.rv:
			r.fault("Update of %s goes back from %d to %d", key, last.rv, now.rv)
		}
		r.objects[key] = now
	})
}

func (r *replica) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	r.hear(obj, func(key string, now, last version, known bool) {
		if !known {
			r.fault("Delete of unknown %s at %d", key, now.rv)
		} else if now.rv < last.rv {
			r.fault("Delete of %s at %d, known at %d", key, now.rv, last.rv)
		}
		delete(r.objects, key)
	})
}

func (r *replica) hear(obj any, apply func(key string, now, last version, known bool)) {
	key, now := stateOf(obj)
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.objects[key]
	apply(key, now, last, known)
	r.told++
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *replica) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *replica) snapshot() (objects contents, told int, faults []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.objects), r.told, slices.Clone(r.faults)
}

// awaitEqual returns nil as soon as the replica holds what want returns, which is asked after every change, or what is
// different when ctx ends.
func (r *replica) awaitEqual(ctx context.Context, want contents) error {
	for {
		have, _, _ := r.snapshot()
		if maps.Equal(have, want) {
			return nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), difference(have, want))
		}
	}
}

// difference names up to ten keys in which have and want differ.
func difference(have, want contents) string {
	keys := maps.Clone(have)
	maps.Copy(keys, want)
	text, n := "", 0
	for key := range keys {
		if have[key] != want[key] {
			if n++; n <= 10 {
				text += fmt.Sprintf(" %s: have %v, want %v;", key, have[key], want[key])
			}
		}
	}
	return fmt.Sprintf("%d of %d objects differ:%s", n, len(want), text)
}

func stateOf(obj any) (string, version) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("a handler got %T: %v", obj, err))
	}
	rv, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resourceVersion of %s: %v", accessor.GetName(), err))
	}
	key, _ := cache.MetaNamespaceKeyFunc(obj)
	return key, version{uid: accessor.GetUID(), rv: rv}
}

// contentsOf is what a store or a list holds.
func contentsOf(objects []any) contents {
	c := make(contents, len(objects))
	for _, obj := range objects {
		key, v := stateOf(obj)
		c[key] = v
	}
	return c
}
