// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document decodes JSON into the values of unstructured objects: map[string]any, []any,
// string, bool, int64, float64 and nil.
package document

import (
	"strings"

	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/keep"
)

// Unstructured decodes an object. It gives up on an object without kind or apiVersion, and on an
// object with items, which client-go decodes as a list.
func Unstructured(data []byte, o share.Options) (map[string]any, error) {
	d := begin(data, o)
	m, ok := d.whole(o.Keep)
	if _, list := m["items"]; list || d.items {
		ok = d.GiveUp("items")
	}
	return m, d.finish(ok && d.identified(m))
}

// Item is Unstructured for an item of a list. An item with neither kind nor apiVersion gets the
// given ones.
func Item(data []byte, kind, apiVersion string, o share.Options) (map[string]any, error) {
	d := begin(data, o)
	d.Private = kind == "Secret"
	m, ok := d.whole(o.Keep)
	_, hasKind := m["kind"]
	_, hasVersion := m["apiVersion"]
	if ok && !hasKind && !hasVersion {
		m["kind"], m["apiVersion"] = kind, apiVersion
	}
	return m, d.finish(ok && d.identified(m))
}

// whole decodes an object that spans all of the data, or those of its members that of keeps.
func (d *Decoder) whole(of *keep.Fields) (map[string]any, bool) {
	m, ok := d.object(true, of)
	return m, ok && d.End()
}

// identified reports whether an object has a kind and an apiVersion with a version.
func (d *Decoder) identified(m map[string]any) bool {
	kind, _ := m["kind"].(string)
	version, _ := m["apiVersion"].(string)
	return kind != "" && version != "" && !strings.HasSuffix(version, "/") || d.GiveUp("no kind or apiVersion")
}
