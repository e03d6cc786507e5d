// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/kinformer"
)

// Option sets a property of the informers of a factory. If several options set the same property, the
// last one applies. With a nil Option the informers do not run.
type Option func(*config)

// config has all options of the factories. Its zero value is valid.
type config struct {
	namespace    string
	namespaces   *Namespaces // replaces namespace unless nil
	tweak        func(*metav1.ListOptions)
	transform    cache.TransformFunc
	shard        sharding.Selector
	informerName *cache.InformerName
	options      kinformer.Options
	kinds        []kindOptions // in the place of options, the last one first
	bad          door.Faults

	given struct{ namespace, tweak bool } // whether an option has set the field
}

func newConfig(options []Option) config { return config{}.with(options) }

// with returns c with options that are applied after those of c.
func (c config) with(options []Option) config {
	c.bad = slices.Clone(c.bad)
	for i, o := range options {
		if o == nil {
			c.bad.Add("option %d of %d is nil", i+1, len(options))
			continue
		}
		o(&c)
	}
	return c
}

// WithNamespace limits the informers to one namespace: their requests, and the objects that they accept
// from the responses; see kinformer.Requests.ExpectedNamespace. The default is all namespaces and, for
// Wrap, the namespace of the wrapped factory. It does not apply to objects without a namespace; see
// WithNamespaces.
func WithNamespace(namespace string) Option {
	return func(c *config) { c.namespace, c.namespaces, c.given.namespace = namespace, nil, true }
}

// WithNamespaces makes the informers follow several namespaces, instead of WithNamespace. An informer of
// objects without a namespace, such as nodes, has one source, and follows all of them. Factories know
// that only of resources that client-go has informers for. For others, such as
// customresourcedefinitions, they send requests with a namespace, which servers answer with 404: use
// another factory for these. Shutdown of the factory stops the informers that have not been started,
// which cannot be run afterwards; that of the factory of Take does not.
func WithNamespaces(namespaces *Namespaces) Option {
	return func(c *config) {
		if namespaces == nil {
			c.bad.Add("the Namespaces of WithNamespaces are nil")
		}
		c.namespace, c.namespaces, c.given.namespace = metav1.NamespaceAll, namespaces, true
	}
}

// WithTweakListOptions applies tweak to the options of each list and watch, for selectors. It is called
// concurrently. Nil means none, as without the option, and for Wrap also that a tweak of the wrapped
// factory is omitted on purpose.
func WithTweakListOptions(tweak func(*metav1.ListOptions)) Option {
	return func(c *config) { c.tweak, c.given.tweak = tweak, true }
}

// WithTransform sets the transform of all informers, which replaces that of the other factory and of
// SetTransform. Nil leaves these as they are.
func WithTransform(transform cache.TransformFunc) Option {
	return func(c *config) { c.transform = transform }
}

// WithShardSelector makes the informers follow only the objects that the selector matches, as
// SetShardSelector of an informer does, and SetShardSelector selects among these. With a selector that
// SetShardSelector refuses the informers do not run.
func WithShardSelector(selector sharding.Selector) Option {
	return func(c *config) {
		c.shard = selector
		if _, err := shard.Select(selector); err != nil {
			c.bad.Add("WithShardSelector: %v", err)
		}
	}
}

// WithInformerName names the informers for their metrics, each by name and resource. For Wrap the
// default is the name of the wrapped factory. Shutdown of a ResourceFactory releases the name; Shutdown
// of a wrapped factory releases only the factory's own.
func WithInformerName(name *cache.InformerName) Option {
	return func(c *config) { c.informerName = name }
}

// WithInformerOptions sets the options of the informers. The factory sets the identifier, the
// description, the namespace and the resync period unless the options have them. It adds an index by
// namespace, so that options with an index of that name are refused.
func WithInformerOptions(options kinformer.Options) Option {
	return func(c *config) {
		c.options = options
		if options.For != nil {
			c.bad.Add("WithInformerOptions: Options.For is for kinformer.Constructor: use WithOptionsFor")
		}
	}
}

// WithOptionsFor is WithInformerOptions for the informers of one kind, instead of the options of the others. example is
// an object of a Go type, as in &corev1.Pod{}, or an unstructured one with apiVersion and kind, whatever the objects
// of the factory are. The options are for all versions of the resource, but not for one that has options of its own. The
// resource of a kind that client-go has no informer for is found by the names that most servers use.
func WithOptionsFor(example runtime.Object, options kinformer.Options) Option {
	return func(c *config) {
		of, err := kindOptionsOf(example, options)
		if err != nil {
			c.bad.Add("WithOptionsFor: %v", err)
			return
		}
		c.kinds = append([]kindOptions{of}, c.kinds...)
	}
}
