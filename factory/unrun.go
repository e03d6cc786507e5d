// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"sync"

	"github.com/kinformer/cache"
)

// neverRun stops an informer that has not been started, so that neither Namespaces nor others wait for
// it.
func neverRun(informer cache.SharedIndexInformer) {
	if informer.(interface{ HasStarted() bool }).HasStarted() {
		return // also by its user
	}
	ended, end := context.WithCancel(context.Background())
	end()
	informer.RunWithContext(ended)
}

// unrun has informers of a typed factory that follow Namespaces, which the factory's Shutdown stops if
// they have not been started. Its zero value is ready.
type unrun struct {
	mu struct {
		sync.Mutex
		informers []cache.SharedIndexInformer
		shutdown  bool
	}
}

// add adds a new informer. After shutdown it stops the informer.
func (u *unrun) add(informer cache.SharedIndexInformer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.shutdown {
		neverRun(informer)
		return
	}
	u.mu.informers = append(u.mu.informers, informer)
}

// shutdown stops the informers that have not been started, now and later.
func (u *unrun) shutdown() {
	u.mu.Lock()
	informers := u.mu.informers
	u.mu.informers, u.mu.shutdown = nil, true
	u.mu.Unlock()
	for _, informer := range informers {
		neverRun(informer)
	}
}
