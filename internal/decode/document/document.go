// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document reads JSON as unstructured objects have it.
package document

import (
	"strings"

	"github.com/kinformer/cache/internal/decode/share"
)

// Unstructured reads an object as unstructured objects have it. What has no kind and apiVersion is
// given up, and what has items, which client-go makes a list of.
func Unstructured(data []byte, o share.Options) (map[string]any, error) {
	d := begin(data, o)
	m, ok := d.whole()
	if _, list := m["items"]; list {
		ok = d.GiveUp("items")
	}
	return m, d.finish(ok && d.identified(m))
}

// Item is Unstructured for an item of a list. One that has neither kind nor apiVersion
// is given these.
func Item(data []byte, kind, apiVersion string, o share.Options) (map[string]any, error) {
	d := begin(data, o)
	d.Private = kind == "Secret"
	m, ok := d.whole()
	_, hasKind := m["kind"]
	_, hasVersion := m["apiVersion"]
	if ok && !hasKind && !hasVersion {
		m["kind"], m["apiVersion"] = kind, apiVersion
	}
	return m, d.finish(ok && d.identified(m))
}

// whole reads an object that is all of the data.
func (d *Reader) whole() (map[string]any, bool) {
	m, ok := d.object(true)
	return m, ok && d.End()
}

// identified reports whether an object says what it is, by an apiVersion that has a version.
func (d *Reader) identified(m map[string]any) bool {
	kind, _ := m["kind"].(string)
	version, _ := m["apiVersion"].(string)
	return kind != "" && version != "" && !strings.HasSuffix(version, "/") || d.GiveUp("no kind or apiVersion")
}
