// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
)

// Constructor makes an informer. Its signature is that of cache.NewSharedIndexInformer, and of what
// cache.InformerFunc returns.
type Constructor = func(lw cache.ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer

// Option sets a property of the informers of a factory. Of several that set the same property the
// last one counts. With a nil one the informers do not run.
type Option func(*config)

// config is all that the factories can be told. Its zero value works.
type config struct {
	namespace    string
	tweak        func(*metav1.ListOptions)
	transform    cache.TransformFunc
	informerName *cache.InformerName
	constructor  Constructor
	options      []cache.Option

	given struct{ namespace, tweak bool } // whether an option has set them
}

func newConfig(options []Option) config {
	c := config{namespace: metav1.NamespaceAll}
	for _, o := range options {
		if o == nil {
			o = WithInformerOptions(nil) // which each informer refuses
		}
		o(&c)
	}
	return c
}

// WithNamespace limits the informers to one namespace: their requests, and what they take of the
// answers; see cache.WithExpectedNamespace. The default is all, and of Wrap the namespace that the
// wrapped factory has.
func WithNamespace(namespace string) Option {
	return func(c *config) { c.namespace, c.given.namespace = namespace, true }
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

// WithInformerOptions adds options to each informer. They are applied after those that name the
// informer for metrics and logs.
func WithInformerOptions(options ...cache.Option) Option {
	return func(c *config) { c.options = append(c.options, options...) }
}

// WithConstructor makes all informers by construct. Neither WithInformerName nor
// WithInformerOptions reaches them.
func WithConstructor(construct Constructor) Option {
	return func(c *config) { c.constructor = construct }
}
