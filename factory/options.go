// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/kinformer"
)

// Constructor makes an informer. Its signature is that of cache.NewSharedIndexInformer, and of what
// kinformer.Constructor returns.
type Constructor = func(lw cache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer

// Option sets a property of the informers of a factory. Of several that set the same property the
// last one counts. With a nil one the informers do not run.
type Option func(*config)

// config is all that the factories can be told. Its zero value works.
type config struct {
	namespace    string
	namespaces   *Namespaces // in the place of namespace; nil: none
	tweak        func(*metav1.ListOptions)
	transform    cache.TransformFunc
	informerName *cache.InformerName
	constructor  Constructor
	options      kinformer.Options
	bad          door.Faults

	given struct{ namespace, tweak bool } // whether an option has set them
}

func newConfig(options []Option) config {
	c := config{namespace: metav1.NamespaceAll}
	for i, o := range options {
		if o == nil {
			c.bad.Add("option %d of %d is nil", i+1, len(options))
			continue
		}
		o(&c)
	}
	return c
}

// WithNamespace limits the informers to one namespace: their requests, and what they take of the
// answers; see kinformer.Requests.ExpectedNamespace. The default is all, and of Wrap the namespace that the
// wrapped factory has.
func WithNamespace(namespace string) Option {
	return func(c *config) { c.namespace, c.namespaces, c.given.namespace = namespace, nil, true }
}

// WithNamespaces has the informers follow several namespaces, in the place of WithNamespace. Resources
// without namespaces would be listed once for each: ask another factory for these.
func WithNamespaces(namespaces *Namespaces) Option {
	return func(c *config) {
		if namespaces == nil {
			c.bad.Add("the Namespaces of WithNamespaces are nil")
		}
		c.namespace, c.namespaces, c.given.namespace = metav1.NamespaceAll, namespaces, true
	}
}

// WithTweakListOptions has tweak change the options of each list and watch, for selectors. It is
// called concurrently. Nil is none, as without the option, and tells Wrap that a tweak of the
// wrapped factory is left out on purpose.
func WithTweakListOptions(tweak func(*metav1.ListOptions)) Option {
	return func(c *config) { c.tweak, c.given.tweak = tweak, true }
}

// WithTransform sets the transform of all informers. A transform that the factory given to Wrap has
// itself comes in its place.
func WithTransform(transform cache.TransformFunc) Option {
	return func(c *config) { c.transform = transform }
}

// WithInformerName names the informers for their metrics, each by name and resource. The default of
// Wrap is the name that the wrapped factory has. Shutdown of a ResourceFactory releases the name;
// of a wrapped factory, only its own.
func WithInformerName(name *cache.InformerName) Option {
	return func(c *config) { c.informerName = name }
}

// WithInformerOptions sets what the informers are made with. What the factory knows itself - the
// identifier, the description, the namespace, the resync period and the indexers - it sets unless the
// options have it.
func WithInformerOptions(options kinformer.Options) Option {
	return func(c *config) { c.options = options }
}

// WithConstructor makes all informers by construct. Neither WithInformerName nor
// WithInformerOptions reaches them.
func WithConstructor(construct Constructor) Option {
	return func(c *config) { c.constructor = construct }
}
