// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/switched"
)

// configOf returns the options of a factory that wraps f, with those settings of f that no option has set.
func configOf(f informers.SharedInformerFactory, options []Option) config {
	inner, wrapped := f.(*typedFactory)
	if !wrapped {
		c := newConfig(options)
		c.informerName = cmp.Or(c.informerName, f.InformerName())
		c.adoptLimits(f)
		return c
	}
	c := inner.accessors.with(options)
	c.informerName = cmp.Or(c.informerName, inner.InformerName())
	if c.transform == nil {
		c.transform = inner.accessors.transform
	}
	return c
}

// adoptLimits takes over the namespace of a wrapped factory, and logs what it cannot take over.
func (c *config) adoptLimits(f informers.SharedInformerFactory) {
	namespace, tweaks, known := limitsOf(f)
	if known && !c.given.namespace {
		c.namespace = namespace
	}
	switch {
	case !known && !(c.given.namespace && c.given.tweak):
		event.Warn(klog.Background(), 0, "factory.Wrap cannot tell to which namespace, and by which list options, the wrapped factory is "+
			"limited. Give it factory.WithNamespace and factory.WithTweakListOptions, \"\" and nil for none", "namespace", c.namespace)
	case tweaks && !c.given.tweak:
		event.Warn(klog.Background(), 0, "The wrapped factory changes list options, and factory.Wrap cannot take that over: its informers "+
			"also receive objects that the function excludes. Pass factory.WithTweakListOptions as well, nil if that is intended", "namespace", c.namespace)
	}
}

// limitsOf returns the namespace of a factory of client-go, and whether it tweaks list options. A
// factory has no methods for these, but each of its groups has both. known is false if the factory is
// not client-go's.
func limitsOf(f informers.SharedInformerFactory) (namespace string, tweaks, known bool) {
	group := reflect.Indirect(reflect.ValueOf(f.Core()))
	if group.Kind() != reflect.Struct {
		return "", false, false
	}
	limit, tweak := group.FieldByName("namespace"), group.FieldByName("tweakListOptions")
	if limit.Kind() != reflect.String || tweak.Kind() != reflect.Func {
		return "", false, false
	}
	return limit.String(), !tweak.IsNil(), true
}

// Foreign returns the types of objects for which f has started an informer of another package, sorted
// by name: informers that were made before Wrap, or by a constructor of another package. f need not be
// wrapped. Informers that KINFORMER or Options.Engine has made client-go's are not among them.
func Foreign(f informers.SharedInformerFactory) (foreign []reflect.Type) {
	for t, informer := range startedOf(f) {
		if isForeign(informer) {
			foreign = append(foreign, t)
		}
	}
	slices.SortFunc(foreign, func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) })
	return foreign
}

// isForeign reports whether an informer is neither of this module nor in the place of one that is.
func isForeign(informer cache.SharedIndexInformer) bool {
	return door.Of(informer) == nil && switched.Of(informer) == nil
}

// warnOfForeign logs, once for each type, that an accessor returns an informer of another package.
func (a accessors) warnOfForeign(informer cache.SharedIndexInformer, example runtime.Object) {
	if !isForeign(informer) {
		return
	}
	if _, before := a.warned.LoadOrStore(reflect.TypeOf(example), true); !before {
		event.Warn(klog.Background(), 0, "The wrapped factory already had an informer of this type, which is of another package, and keeps "+
			"it. Wrap the factory earlier, or use factory.Take where that informer is made", "type", fmt.Sprintf("%T", example))
	}
}

// warnOfLateTake logs that a factory had an informer before Take, so that the options of Take have no
// effect. An informer of this module is no fault if there are no options.
func warnOfLateTake(informer cache.SharedIndexInformer, example runtime.Object, options int) {
	switch {
	case isForeign(informer):
		event.Warn(klog.Background(), 0, "The factory already had an informer of this type, which is of another package, and keeps it: "+
			"the options of factory.Take have no effect. Call factory.Take before any other use of the type", "type", fmt.Sprintf("%T", example))
	case options > 0:
		event.Warn(klog.Background(), 0, "The factory already had an informer of this type, with its own options, and keeps it: "+
			"those of factory.Take have no effect. Call factory.Take once for a type, before any other use of it", "type", fmt.Sprintf("%T", example))
	}
}
