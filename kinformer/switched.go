// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/switched"
)

// switched returns why the informer is client-go's, or "". With invalid options it is not: it does not run, and
// says why.
func (o *Options) switched(lw cache.ListerWatcher, example runtime.Object) (why string) {
	if why = switched.Decide(lw, switched.SubjectOf(o.Identifier, example), o.Engine); why == "" {
		return ""
	}
	config := door.Config{}
	if o.set(&config, example); len(config.Bad) > 0 || switched.HasNil(o.Indexers) {
		return ""
	}
	return why
}

// newSwitched returns an informer of client-go's with those of the options that it can have.
func (o *Options) newSwitched(lw cache.ListerWatcher, example runtime.Object, shared cache.SharedIndexInformerOptions, why string) cache.SharedIndexInformer {
	informer := switched.New(lw, example, shared, why, func() cache.SharedIndexInformer { return o.newOurs(lw, example, shared) })
	o.Decoding.trimSwitched(informer, example)
	if names := o.leftOut(); len(names) > 0 {
		switched.LeftOut(informer.What, strings.Join(names, ", "))
	}
	return informer
}

// honoured are the options that an informer of client-go's has as well, or has no need of.
var honoured = []string{"Identifier", "InformerMetricsProvider", "ObjectDescription", "ResyncPeriod", "Indexers", "Engine",
	"Decoding.Keep", "Decoding.Whole", "Decoding.PartialWrites", "Decoding.Drop", "Decoding.Off"}

// leftOut returns the names of the options that have no effect on an informer of client-go's.
func (o *Options) leftOut() (names []string) {
	all := reflect.ValueOf(o).Elem()
	for field, value := range all.Fields() {
		if !slices.Contains([]string{"Requests", "Queue", "Decoding", "Errors"}, field.Name) {
			names = appendSet(names, field.Name, value)
			continue
		}
		for part, value := range value.Fields() {
			names = appendSet(names, field.Name+"."+part.Name, value)
		}
	}
	return names
}

func appendSet(names []string, name string, value reflect.Value) []string {
	if value.IsZero() || slices.Contains(honoured, name) {
		return names
	}
	return append(names, name)
}
