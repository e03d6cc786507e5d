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
)

// adopt takes over what the wrapped factory was made with and Wrap was not told, and logs what
// cannot be taken over.
func (c *config) adopt(f informers.SharedInformerFactory) {
	if c.informerName == nil {
		c.informerName = f.InformerName()
	}
	if typed, ok := f.(*typedFactory); ok && !c.given.namespace {
		c.namespaces = typed.accessors.namespaces
	}
	namespace, tweaks, known := limitsOf(f)
	if known && !c.given.namespace {
		c.namespace = namespace
	}
	switch {
	case !known && !(c.given.namespace && c.given.tweak):
		klog.Background().Info("Warning: factory.Wrap cannot tell to which namespace, and by which list options, the wrapped factory is "+
			"limited. Give it factory.WithNamespace and factory.WithTweakListOptions, \"\" and nil for none", "namespace", c.namespace)
	case tweaks && !c.given.tweak:
		klog.Background().Info("Warning: the wrapped factory changes list options, and factory.Wrap cannot take that over: its informers "+
			"get what they were to leave out. Give it factory.WithTweakListOptions as well, nil to have it so", "namespace", c.namespace)
	}
}

// limitsOf returns the namespace of a factory of client-go, and whether it changes list options. A
// factory has no methods for that, but each of its groups holds both. known is false if it is a
// factory of somebody else.
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

// Foreign returns the types of the objects whose informers f has started and are not of this module, in the order of
// their names: those that were made before Wrap, or by a constructor of another package. f need not be
// wrapped.
func Foreign(f informers.SharedInformerFactory) (foreign []reflect.Type) {
	for t, informer := range startedOf(f) {
		if door.Of(informer) == nil {
			foreign = append(foreign, t)
		}
	}
	slices.SortFunc(foreign, func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) })
	return foreign
}

// warnOfForeign logs, once for a type, that an accessor returns an informer of another package, unless the user's
// constructor makes them all.
func (a accessors) warnOfForeign(informer cache.SharedIndexInformer, example runtime.Object) {
	if a.constructor != nil || door.Of(informer) != nil {
		return
	}
	if _, before := a.warned.LoadOrStore(reflect.TypeOf(example), true); !before {
		klog.Background().Info("Warning: the wrapped factory had an informer before factory.Wrap was asked for it, and keeps that, which is of "+
			"another package. Wrap the factory earlier, or use factory.Take where that informer is made", "type", fmt.Sprintf("%T", example))
	}
}
