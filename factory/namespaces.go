// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/sources"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/kinformer"
)

// Namespaces is a set of namespaces that informers follow. Each of the informers has one store with the
// objects of all of them. Namespaces may be added and removed at any time, by any number of goroutines,
// also by handlers: see package sources, where each namespace is a source with the namespace as its
// name. sources.Of returns the Set of an informer, for the status or an audit of one namespace. The zero
// value is an empty set. A Namespaces must not be copied.
type Namespaces struct {
	mu struct {
		sync.Mutex
		names     []string
		informers []spread // includes informers that have stopped since the last call of runningLocked
	}
}

// spread is an informer that follows namespaces.
type spread struct {
	cache.SharedIndexInformer
	group *sources.Group
	of    func(namespace string) cache.ListerWatcher
}

// Add makes all informers follow a namespace, including those that are made later. It does nothing if
// the namespace is already in the set.
func (n *Namespaces) Add(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.mu.names, namespace) {
		return
	}
	n.mu.names = append(n.mu.names, namespace)
	for _, informer := range n.runningLocked() {
		informer.group.Put(namespace, informer.of(namespace))
	}
}

// Remove makes all informers stop following a namespace, and its objects are removed from the stores.
// It does nothing if the namespace is not in the set.
func (n *Namespaces) Remove(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.names = slices.DeleteFunc(n.mu.names, func(name string) bool { return name == namespace })
	for _, informer := range n.runningLocked() {
		_ = informer.group.Remove(namespace) // the error means that the informer does not follow it
	}
}

// WaitForSync waits until all informers have the first list of a namespace, or ctx ends. Like that of
// kinformer.WaitForSync, the error names the informer that does not have it, and the reason. The error
// is sources.ErrUnknown if the namespace is not in the set, or is removed during the wait and not added
// again. Informers that have not run yet are waited for; those that are made later, those that have
// stopped, and those of objects without a namespace are not.
func (n *Namespaces) WaitForSync(ctx context.Context, namespace string) error {
	informers, err := n.following(namespace)
	if err != nil {
		return err
	}
	for all := false; !all; {
		all = true
		for _, informer := range informers {
			before, _ := n.sourceOf(informer, namespace)
			all = all && (before == nil || before.HasSynced()) // else one that came first may have another source now
			if err := n.await(ctx, informer, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits for one informer. A namespace that is removed and added again has another source.
func (n *Namespaces) await(ctx context.Context, informer spread, namespace string) error {
	for {
		source, err := n.sourceOf(informer, namespace)
		if source == nil {
			return err
		}
		err = kinformer.WaitForSync(ctx, source)
		if now, _ := n.sourceOf(informer, namespace); err == nil || now == source {
			return err
		}
	}
}

// Constructor makes an informer. Its signature is that of cache.NewSharedIndexInformer and of the
// result of kinformer.Constructor.
type Constructor = func(lw cache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer

// Constructor returns a constructor for frameworks that make informers of the objects of all
// namespaces, for example as NewInformer of controller-runtime's cache. construct, for example
// cache.NewSharedIndexInformer, makes the informers. They do not use the ListerWatcher that the
// framework passes, but those that listWatch returns for a namespace and for objects like the example.
// listWatch is called when a namespace is added or an informer is made, and must not add or remove
// namespaces itself. A namespace for which it returns nil never syncs.
//
// An informer of objects without a namespace uses the ListerWatcher of the framework, and does not follow
// the namespaces. Constructor knows these kinds if client-go has informers for them. For an informer of
// any other kind it calls listWatch with metav1.NamespaceAll first, where nil means that the kind has no
// namespace, or is not to follow the namespaces.
func (n *Namespaces) Constructor(construct Constructor, listWatch func(example runtime.Object, namespace string) cache.ListerWatcher) Constructor {
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		informer := construct(lw, example, resync, indexers)
		if clusterScoped(example) || event.IsNil(listWatch(example, metav1.NamespaceAll)) {
			return informer
		}
		return n.join(informer, example, func(namespace string) cache.ListerWatcher { return listWatch(example, namespace) })
	}
}

// join makes a new informer follow the namespaces, with the ListerWatcher that of returns for each.
func (n *Namespaces) join(informer cache.SharedIndexInformer, example runtime.Object, of func(namespace string) cache.ListerWatcher) cache.SharedIndexInformer {
	why := foreignConstructor
	if e := switched.Of(informer); e != nil {
		ours, err := e.Self.(*switched.Informer).Ours()
		if err == nil {
			return n.join(ours, example, of)
		}
		why = err.Error()
	}
	own := door.Of(informer)
	if own == nil { // an informer of another package would follow all namespaces
		refused := cache.NewSharedIndexInformer(nil, example, 0, cache.Indexers{})
		door.Of(refused).Configure(func(c *door.Config) { c.Bad.Add("%s", why) })
		return refused
	}
	if own.Parts != nil {
		own.Configure(func(c *door.Config) { c.Bad.Add("%s", twice) })
		return informer
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	joined := spread{informer, sources.Attach(own), of}
	for _, name := range n.mu.names {
		joined.group.Put(name, of(name))
	}
	n.mu.informers = append(n.runningLocked(), joined)
	return informer
}

const (
	foreignConstructor = "the constructor makes informers of another package, which cannot follow several namespaces: " +
		"use cache.NewSharedIndexInformer"
	twice = "the informer follows Namespaces already, or other sources, and would no longer follow those: " +
		"use either WithNamespaces or Namespaces.Constructor, and each once"
)

// following returns the informers that follow a namespace.
func (n *Namespaces) following(namespace string) ([]spread, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.runningLocked()), n.knownLocked(namespace)
}

// sourceOf returns the source of a namespace of an informer. It is nil if the informer had stopped when
// the namespace was added.
func (n *Namespaces) sourceOf(informer spread, namespace string) (*sources.Source, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.knownLocked(namespace); err != nil {
		return nil, err
	}
	return informer.group.Source(namespace), nil
}

// knownLocked returns an error unless the namespace is in the set.
func (n *Namespaces) knownLocked(namespace string) error {
	if slices.Contains(n.mu.names, namespace) {
		return nil
	}
	return fmt.Errorf("namespace %q was not added, or was removed: %w", namespace, sources.ErrUnknown)
}

// runningLocked removes informers that have stopped from the list, and returns the others.
func (n *Namespaces) runningLocked() []spread {
	n.mu.informers = slices.DeleteFunc(n.mu.informers, func(s spread) bool { return s.IsStopped() })
	return n.mu.informers
}
