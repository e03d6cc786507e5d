// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
)

// Rule is which objects have which of their fields. The nil Rule keeps all. A Rule is immutable.
type Rule struct {
	Fields *Fields         // of the objects that are not whole
	Paths  []string        // those of Fields
	Whole  labels.Selector // the labels of the objects that are kept whole; nil: none
}

// Of returns what is kept of objects that are not whole; nil: all.
func (r *Rule) Of() *Fields {
	if r == nil {
		return nil
	}
	return r.Fields
}

// Says returns the paths, and the labels of the objects that are whole, which may be nil.
func (r *Rule) Says() (paths []string, whole labels.Selector) { return r.Paths, r.Whole }

// IsWhole reports whether the labels of an object make it a whole one.
func (r *Rule) IsWhole(obj any) bool {
	if r == nil {
		return true
	}
	if r.Whole == nil {
		return false
	}
	object, err := meta.Accessor(obj)
	return err == nil && r.Whole.Matches(labels.Set(object.GetLabels()))
}

// Prune removes the fields that are not kept from obj, unless it is whole. See Fields.Prune.
func (r *Rule) Prune(obj any) {
	if r != nil && !r.IsWhole(obj) {
		r.Fields.Prune(obj)
	}
}
