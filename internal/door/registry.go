// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"maps"
	"slices"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// Running are the informers and controllers of the process whose Run has not returned.
var Running Registry[clientgo.Controller]

// Registry knows what runs. The zero value is empty and ready, for any number of goroutines.
type Registry[T any] struct {
	mu struct {
		sync.Mutex
		last    uint64 // number that was given
		running map[uint64]T
	}
}

// Enter adds what begins to run, under a number from 1 that no other gets.
func (r *Registry[T]) Enter(what T) (number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.running == nil {
		r.mu.running = map[uint64]T{}
	}
	r.mu.last++
	r.mu.running[r.mu.last] = what
	return r.mu.last
}

// Leave forgets what has ended. A second call does nothing.
func (r *Registry[T]) Leave(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.running, number)
}

// Find returns what runs under that number, and whether anything does.
func (r *Registry[T]) Find(number uint64) (what T, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what, found = r.mu.running[number]
	return what, found
}

// All returns what runs, in the order of Enter, in a slice of the caller's own.
func (r *Registry[T]) All() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]T, 0, len(r.mu.running))
	for _, number := range slices.Sorted(maps.Keys(r.mu.running)) {
		all = append(all, r.mu.running[number])
	}
	return all
}
