// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Option sets a property of an informer that no parameter of client-go's constructors is for. See InformerFunc.
type Option func(*informerConfig)

// informerConfig is all that a shared informer can be told at its construction. Its zero value is client-go's behaviour.
type informerConfig struct {
	SharedIndexInformerOptions
	queue     queueConfig
	reflector reflectorTuning
}

// InformerFunc returns a constructor with the signature of NewSharedIndexInformer whose informers have the given options. It
// fits wherever a constructor is asked for: controller-runtime's cache.Options.NewInformer, the InformerFor of generated
// factories. Without options it is NewSharedIndexInformer.
func InformerFunc(options ...Option) func(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return func(lw ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
		config := informerConfig{}
		for _, option := range options {
			option(&config)
		}
		config.ResyncPeriod, config.Indexers = resyncPeriod, indexers
		return newSharedIndexInformer(lw, exampleObject, config)
	}
}

// WithIdentifier names the informer for its metrics, which go to the given provider, or if that is nil to that of the
// process, see SetInformerMetricsProvider.
func WithIdentifier(identifier InformerNameAndResource, metrics InformerMetricsProvider) Option {
	return func(c *informerConfig) {
		c.Identifier, c.InformerMetricsProvider = identifier, metrics
	}
}

// WithObjectDescription sets how logs call the informer's objects; the default is their type.
func WithObjectDescription(description string) Option {
	return func(c *informerConfig) { c.ObjectDescription = description }
}
