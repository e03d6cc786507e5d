// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dropping returns what is left out of the struct that is being read: nil unless that is at the
// depth of an object's own metadata.
func (d *reader) dropping() *Drop {
	if d.drop == nil || d.depth != depthOfMetadata {
		return nil
	}
	return d.drop
}

// depthOfMetadata is how many objects or messages are open within an object's metadata.
const depthOfMetadata = 2

var objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()

// metadata is the node of an object's own metadata.
func (b *builder) metadata() *record {
	r := b.record(objectMetaType).(*record)
	for i := range r.members {
		m := &r.members[i]
		shared, _ := m.node.(*sharedNode)
		switch m.key {
		case `"annotations":`:
			m.node = annotationsNode{shared}
		case `"managedFields":`:
			m.node = managedNode{shared}
		}
	}
	return r
}

// managedNode reads managed fields, or leaves them out, and annotationsNode annotations, all or
// fewer.
type (
	managedNode     struct{ node }
	annotationsNode struct{ *sharedNode }
	fewerTexts      struct{}
)

func (n managedNode) json(d *reader, p place) bool {
	if w := d.dropping(); w != nil && w.managedFields {
		return d.skip()
	}
	return n.node.json(d, p)
}

func (n annotationsNode) json(d *reader, p place) bool {
	if w := d.dropping(); w != nil && len(w.annotations) > 0 {
		return n.read(d, p, &w.document, fewerTexts{})
	}
	return n.sharedNode.json(d, p)
}

func (fewerTexts) json(d *reader, p place) bool { return d.textMembers(p, d.drop) }

// metadata is that for protobuf.
func (b *wireBuilder) metadata() messageNode {
	made := b.fields(objectMetaType)
	list, _ := made.(*fields)
	managed, _ := objectMetaType.FieldByName("ManagedFields")
	annotations, _ := objectMetaType.FieldByName("Annotations")
	for i := range *list {
		f := &(*list)[i]
		shared, _ := f.wireNode.(*sharedField)
		switch {
		case f.tag == 0:
		case f.offset == managed.Offset:
			f.wireNode = managedField{shared}
		case f.offset == annotations.Offset:
			f.wireNode = annotationsField{shared}
		}
	}
	return made
}

type (
	managedField     struct{ *sharedField }
	annotationsField struct{ *sharedField }
	fewerTextsField  struct{ *sharedField }
)

func (f managedField) wire(d *reader, p place, end int) bool {
	w := d.dropping()
	if w == nil || !w.managedFields {
		return f.sharedField.wire(d, p, end)
	}
	to, ok := d.runEnd(f.tag, end)
	if ok {
		d.pos = to
	}
	return ok
}

func (f annotationsField) wire(d *reader, p place, end int) bool {
	if w := d.dropping(); w != nil && len(w.annotations) > 0 {
		return f.read(d, p, end, &w.message, fewerTextsField(f))
	}
	return f.sharedField.wire(d, p, end)
}

func (f fewerTextsField) wire(d *reader, p place, end int) bool {
	return d.textEntries(p, f.tag, end, d.drop)
}

// within returns the site of an object that is a member of one at another site. The next byte is
// the member's first.
func (d *reader) within(at site, key string) site {
	if d.drop == nil || at == anyObject || !d.is('{') {
		return anyObject
	}
	switch {
	case at == wholeObject && key == "metadata":
		return itsMetadata
	case at == itsMetadata && key == "annotations" && len(d.drop.annotations) > 0:
		return itsAnnotations
	}
	return anyObject
}

// hasAt reports whether a member of an object at a site is left out.
func (w *Drop) hasAt(at site, name []byte) bool {
	if at == itsAnnotations {
		return w.has(name)
	}
	return w.managedFields && string(name) == "managedFields"
}

// leaveOutEmpty leaves out annotations of which nothing is left. They may stand behind others under
// the same name, in whose place they are.
func leaveOutEmpty(metadata map[string]any) {
	if annotations, read := metadata["annotations"].(map[string]any); read && annotations == nil {
		delete(metadata, "annotations")
	}
}
