// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/kinformer"
)

// kindOptions are the options of the informers of one kind.
type kindOptions struct {
	example   runtime.Object
	version   string                 // "" if it is not known
	resources []schema.GroupResource // that the kind may have
	options   kinformer.Options
}

// kindOptionsOf returns an error for options that no informer can have.
func kindOptionsOf(example runtime.Object, options kinformer.Options) (k kindOptions, err error) {
	switch {
	case event.IsNil(example):
		return k, errors.New("the example is nil")
	case options.For != nil:
		return k, errors.New("Options.For is for kinformer.Constructor: use WithOptionsFor once for each kind")
	}
	k = kindOptions{example: example, options: options}
	if known, ok := typedKinds().byType[reflect.TypeOf(example)]; ok {
		k.version, k.resources = known.gvr.Version, []schema.GroupResource{known.gvr.GroupResource()}
		return k, nil
	}
	gvk := example.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" {
		gvk, _ = kindOf(reflect.TypeOf(example)) // for informers of that Go type it is not needed
	}
	switch {
	case gvk.Kind == "" && hasAnyKind(example):
		return k, fmt.Errorf("the example, a %T, has no kind: set its apiVersion and kind", example)
	case gvk.Kind == "":
		return k, nil // its informers are those of its Go type
	}
	k.version = gvk.Version
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	lower := strings.ToLower(gvk.Kind)
	for _, name := range []string{guess.Resource, lower + "s", lower + "es"} { // the guess makes gatewaies of Gateway
		k.resources = append(k.resources, schema.GroupResource{Group: gvk.Group, Resource: name})
	}
	return k, nil
}

// optionsFor returns the user's options for an informer: those for its Go type, else for its version of the resource, else
// for another version.
func (c config) optionsFor(r request) kinformer.Options {
	ofType := func(k kindOptions) bool {
		return reflect.TypeOf(k.example) == reflect.TypeOf(r.example) && !hasAnyKind(r.example)
	}
	ofResource := func(k kindOptions) bool { return slices.Contains(k.resources, r.gvr.GroupResource()) }
	ofVersion := func(k kindOptions) bool { return k.version == r.gvr.Version && ofResource(k) }
	for _, isOf := range []func(kindOptions) bool{ofType, ofVersion, ofResource} {
		if at := slices.IndexFunc(c.kinds, isOf); at >= 0 {
			return c.kinds[at].options
		}
	}
	return c.options
}

// hasAnyKind reports whether the type of an example is one for many kinds.
func hasAnyKind(example runtime.Object) bool {
	switch example.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}
