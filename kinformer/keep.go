// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/internal/tap"
)

// setKeep sets what is kept of objects like example, and the guard of writes.
func (d *Decoding) setKeep(c *door.Config, example runtime.Object) {
	if d.Keep == nil {
		if d.Whole != nil || d.PartialWrites {
			c.Bad.Add("Decoding.Whole and PartialWrites are about objects with the fields of Decoding.Keep: set Keep, which may be empty, or leave them out")
		}
		return
	}
	if why := d.whyNotKept(example); why != "" {
		c.Bad.Add("Decoding.Keep: %s", why)
		return
	}
	for _, path := range d.Keep {
		if why := d.refuses(path, example); why != "" {
			c.Bad.Add("Decoding.Keep: %q: %s", path, why)
		}
	}
	c.Requests.Decoding.Keep = d.rule()
	c.GuardsWrites = !d.PartialWrites
}

// whyNotKept returns why fields cannot be kept of objects like example, or "".
func (d *Decoding) whyNotKept(example runtime.Object) string {
	if event.IsNil(example) {
		return "the type of the objects is not known: pass an example object to the constructor"
	}
	if isUntyped(example) {
		return ""
	}
	t := reflect.TypeOf(example)
	_, contents := example.(runtime.Unstructured)
	if contents || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || keep.Check(t.Elem(), "metadata.labels") != "" {
		return "objects of type " + t.String() + " have no field metadata in JSON: use a transform function"
	}
	return ""
}

func isUntyped(example runtime.Object) bool {
	_, is := example.(*unstructured.Unstructured)
	return is
}

// refuses returns why a path cannot be kept, or "".
func (d *Decoding) refuses(path string, example runtime.Object) string {
	if isUntyped(example) {
		if _, ok := keep.Steps(path); !ok {
			return keep.Check(nil, path)
		}
	} else if why := keep.Check(reflect.TypeOf(example).Elem(), path); why != "" {
		return why
	}
	steps, _ := keep.Steps(path)
	switch {
	case steps[0].Name != "metadata":
		return ""
	case len(steps) == 1:
		return "all of the metadata is kept but annotations and managedFields: name what you need of these"
	case steps[1].Name == "managedFields" && !d.PartialWrites:
		return "objects without managedFields are those that must not be written: leave it out, or set Decoding.PartialWrites"
	}
	return ""
}

// rule returns what is kept, if that is not all.
func (d *Decoding) rule() *keep.Rule {
	fields, _ := keep.New(d.Keep)
	return &keep.Rule{Fields: fields, Paths: slices.Clone(d.Keep), Whole: d.Whole}
}

// trimSwitched makes an informer of client-go's keep the same fields, and guards them.
func (d *Decoding) trimSwitched(informer *switched.Informer, example runtime.Object) {
	o := tap.Options{Off: true, Ledger: &tap.Ledger{}}
	if d.Keep != nil {
		o.Keep = d.rule()
	}
	if _ = o.DropOf(d.Drop); o.Keep != nil || o.Drop != nil {
		informer.Trim(func(obj any) {
			if object, ok := obj.(runtime.Object); ok {
				o.Trim(object, false)
			}
		})
	}
	if o.Keep != nil && !d.PartialWrites {
		o.Stored = func(namespace, name string) (any, bool) {
			obj, exists, _ := informer.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
			return obj, exists
		}
		informer.Through(func(lists cache.ListerWatcherWithContext) cache.ListerWatcherWithContext {
			return tap.New(lists, example, o)
		})
	}
}
