// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The field labels that every API server can select by.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// selection is the set of objects that the selectors of a request match. The zero value is the set of
// all objects.
type selection struct {
	labels labels.Selector
	fields fields.Selector
	// extra are Options.Fields.
	extra map[string]func(runtime.Object) string
}

// selectionOf parses the selectors. Its error is a 400.
func (s *Source) selectionOf(options metav1.ListOptions) (selection, error) {
	if options.LabelSelector == "" && options.FieldSelector == "" {
		return selection{}, nil
	}
	byLabels, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return selection{}, apierrors.NewBadRequest(fmt.Sprintf("label selector %q: %v", options.LabelSelector, err))
	}
	byFields, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return selection{}, apierrors.NewBadRequest(fmt.Sprintf("field selector %q: %v", options.FieldSelector, err))
	}
	names := append([]string{nameField, namespaceField}, slices.Sorted(maps.Keys(s.opts.Fields))...)
	for _, r := range byFields.Requirements() {
		if !slices.Contains(names, r.Field) {
			return selection{}, apierrors.NewBadRequest(fmt.Sprintf("the source cannot select by the field %q, but by %s: "+
				"for others set Options.Fields", r.Field, strings.Join(names, ", ")))
		}
	}
	return selection{labels: byLabels, fields: byFields, extra: s.opts.Fields}, nil
}

// all reports whether all objects are selected.
func (sel selection) all() bool {
	return sel.labels == nil || sel.labels.Empty() && sel.fields.Empty()
}

// named returns the keys with the name that the field selector requires, or all keys if it requires
// none.
func (sel selection) named(keys []string) []string {
	if sel.all() {
		return keys
	}
	name, exact := sel.fields.RequiresExactMatch(nameField)
	if !exact {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key[strings.LastIndexByte(key, '/')+1:] != name })
}

// has reports whether obj is selected. It is false for nil.
func (sel selection) has(obj runtime.Object) bool {
	if obj == nil {
		return false
	}
	if sel.all() {
		return true
	}
	m := accessor(obj)
	set := fields.Set{nameField: m.GetName(), namespaceField: m.GetNamespace()}
	for name, value := range sel.extra {
		set[name] = value(obj)
	}
	return sel.labels.Matches(labels.Set(m.GetLabels())) && sel.fields.Matches(set)
}

// seen has the event types of a write, by whether the object was selected before it and whether it is
// after it.
var seen = map[[2]bool]watch.EventType{
	{false, true}: watch.Added,
	{true, true}:  watch.Modified,
	{true, false}: watch.Deleted,
}

// typeOf returns the type of the event of a write for a watch with this selection, "" for none.
func (sel selection) typeOf(e *entry) watch.EventType {
	if e.event.Type == watch.Deleted {
		return seen[[2]bool{sel.has(e.prev), false}]
	}
	return seen[[2]bool{sel.has(e.prev), sel.has(e.event.Object)}]
}

// eventOf returns the event of a write for a watch with this selection. An object that leaves the
// selection is deleted in its previous state, at the version of the write.
func (sel selection) eventOf(e *entry) watch.Event {
	event := watch.Event{Type: sel.typeOf(e), Object: e.event.Object}
	if event.Type == watch.Deleted && e.event.Type != watch.Deleted {
		event.Object = e.prev.DeepCopyObject()
		accessor(event.Object).SetResourceVersion(accessor(e.event.Object).GetResourceVersion())
	}
	return event
}
