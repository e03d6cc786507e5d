// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strconv"
	"strings"
)

// Unstructured reads an object as unstructured objects have it. What has no kind and apiVersion is
// given up, and what has items, which client-go makes a list of.
func Unstructured(data []byte, o Options) (map[string]any, error) {
	d := newReader(data, o)
	m, ok := d.whole()
	if _, list := m["items"]; list {
		ok = d.giveUp("items")
	}
	return m, d.release(ok && d.identified(m))
}

// UnstructuredItem is Unstructured for an item of a list. One that has neither kind nor apiVersion
// is given these.
func UnstructuredItem(data []byte, kind, apiVersion string, o Options) (map[string]any, error) {
	d := newReader(data, o)
	d.private = kind == "Secret"
	m, ok := d.whole()
	_, hasKind := m["kind"]
	_, hasVersion := m["apiVersion"]
	if ok && !hasKind && !hasVersion {
		m["kind"], m["apiVersion"] = kind, apiVersion
	}
	return m, d.release(ok && d.identified(m))
}

// whole reads an object that is all of the data.
func (d *reader) whole() (map[string]any, bool) {
	if d.parts != nil {
		d.findBrackets()
	}
	m, ok := d.object(true)
	return m, ok && d.end()
}

// identified reports whether an object says what it is, by an apiVersion that has a version.
func (d *reader) identified(m map[string]any) bool {
	kind, _ := m["kind"].(string)
	version, _ := m["apiVersion"].(string)
	return kind != "" && version != "" && !strings.HasSuffix(version, "/") || d.giveUp("no kind or apiVersion")
}

// documentNode reads any value as interfaces have it.
type documentNode struct{}

func (documentNode) json(d *reader, p place) bool {
	v, ok := d.document()
	set(p, v)
	return ok
}

func (d *reader) document() (any, bool) {
	switch d.peek() {
	case '{', '[':
		return d.sharedDocument()
	case '"':
		text, ok := d.text()
		if !ok {
			return nil, false
		}
		return d.boxed(text), true
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 'n':
		return nil, d.literal("null")
	}
	text, whole, ok := d.number()
	if !ok {
		return nil, false
	}
	d.makes(8)
	if whole {
		if n, fits := parseInt(text); fits {
			return n, true
		}
	}
	n, err := strconv.ParseFloat(view(text), 64)
	if err != nil {
		return nil, d.giveUp("a number out of range")
	}
	return n, true
}

// container reads an object or an array.
func (d *reader) container() (any, bool) {
	if d.is('{') {
		return anyOf(d.object(false))
	}
	return anyOf(d.array())
}

// anyOf keeps a value that was not read out of an interface.
func anyOf[T any](v T, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return v, true
}

// object reads an object, perhaps the topmost one. What is called data may be a secret's, wherever
// it is.
func (d *reader) object(topmost bool) (map[string]any, bool) {
	if !d.enter('{', "not an object") {
		return nil, false
	}
	if d.peek() == '}' {
		d.made += mapBytes(0, 0)
		return map[string]any{}, d.leave()
	}
	base, before := len(d.pairs), d.private
	for {
		name, ok := d.name()
		if !ok || !d.anyMember(topmost, d.kept(name)) {
			return nil, false
		}
		if another, ok := d.more('}'); !another {
			d.private = before
			return d.popObject(base), ok
		}
	}
}

// anyMember reads a member of an object, and puts it on the stack. It leaves the reader private for
// the rest of a topmost object if this is the kind of a secret.
func (d *reader) anyMember(topmost bool, key string) bool {
	was := d.private
	if key == "data" || key == "stringData" {
		d.private = true
		d.unsharable++ // what is around it, too: it may be a secret
	}
	v, ok := d.document()
	d.pairs = append(d.pairs, pair{key: key, any: v})
	d.private = was || topmost && key == "kind" && v == "Secret"
	return ok
}

// popObject takes pairs off the stack, as an object.
func (d *reader) popObject(base int) map[string]any {
	made := make(map[string]any, len(d.pairs)-base)
	for i := range d.pairs[base:] {
		made[d.pairs[base+i].key] = d.pairs[base+i].any
	}
	d.pop(base)
	d.made += mapBytes(len(made), textBytes+anyBytes)
	return made
}

func (d *reader) array() ([]any, bool) {
	if !d.enter('[', "not an array") {
		return nil, false
	}
	if d.peek() == ']' {
		d.makes(boxBytes)
		return []any{}, d.leave()
	}
	base := len(d.values)
	for {
		v, ok := d.document()
		if !ok {
			return nil, false
		}
		d.values = append(d.values, v)
		if another, ok := d.more(']'); !another {
			made := make([]any, len(d.values)-base)
			copy(made, d.values[base:])
			clear(d.values[base:])
			d.values = d.values[:base]
			d.made += boxBytes + block(anyBytes*len(made))
			return made, ok
		}
	}
}
