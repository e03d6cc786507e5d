// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"reflect"

	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
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
