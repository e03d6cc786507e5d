// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Option sets a property of an informer that no parameter of client-go's constructors is for. Of several that set the same
// property the last one counts. See InformerFunc.
type Option func(*informerConfig)

// informerConfig is all that a shared informer can be told at its construction. Its zero value is client-go's behaviour.
type informerConfig struct {
	SharedIndexInformerOptions
	queue     queueConfig
	reflector reflectorOptions // what is not set here the controller sets
	reuse     ReuseMode
	bad       faults // of the options themselves
}

// InformerFunc returns a constructor with the signature of NewSharedIndexInformer whose informers have the given options. It
// fits wherever a constructor is asked for: controller-runtime's cache.Options.NewInformer, the InformerFor of generated
// factories. Without options it is NewSharedIndexInformer.
//
// An option that asks for what there is not, or two that exclude each other, is no panic: such an informer does not run.
// Its Run logs the error and returns; StatusOf and WaitForSync give it from the beginning.
func InformerFunc(options ...Option) func(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return func(lw ListerWatcher, exampleObject runtime.Object, resyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
		config := informerConfig{}
		for i, option := range options {
			if option == nil {
				config.bad.add("option %d of %d is nil", i+1, len(options))
				continue
			}
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

// errBadOptions tells why an informer does not run.
var errBadOptions = errors.New("invalid options")

// check returns what is wrong with the options as they are in the end, nil if they can be had.
func (c *informerConfig) check() error {
	bad := slices.Clip(c.bad)
	c.queue.check(&bad)
	c.checkReflector(&bad)
	checkIndexers(c.Indexers, &bad)
	return bad.as(errBadOptions)
}

// faults says what is wrong with what a user gave, each with the mend.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// refuseNegative adds a value below 0. zero says what 0 stands for.
func refuseNegative[T int | int64 | time.Duration](bad *faults, name string, value T, zero string) {
	if value < 0 {
		bad.add("%s is %v: use a positive value, or 0 for %s", name, value, zero)
	}
}

// as returns an error that wraps what, in one line; nil if there are no faults.
func (f faults) as(what error) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", what, strings.Join(f, "; "))
}
