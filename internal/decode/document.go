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
	m, ok := d.object(wholeObject)
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
		return d.sharedDocument(anyDocument, anyObject)
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

// container reads an object, at that site, or an array.
func (d *reader) container(at site) (any, bool) {
	if d.is('{') {
		return anyOf(d.object(at))
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

// site is where an object of a document is.
type site uint8

const (
	anyObject site = iota
	wholeObject
	itsMetadata    // of a whole one, if something is dropped
	itsAnnotations // the same
)

// object reads an object, less what is dropped. Annotations of which nothing is left are nil. What
// is called data may be a secret's, wherever it is.
func (d *reader) object(at site) (map[string]any, bool) {
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
		if !ok {
			return nil, false
		}
		if at > wholeObject && d.drop.hasAt(at, name) {
			ok = d.skip()
		} else {
			ok = d.namedMember(at, d.kept(name))
		}
		if !ok {
			return nil, false
		}
		if another, ok := d.more('}'); !another {
			d.private = before
			return d.popObject(at, base), ok
		}
	}
}

// namedMember is anyMember for one of that name. It leaves the reader private for the rest of
// a whole object if this is the kind of a secret.
func (d *reader) namedMember(at site, key string) bool {
	was := d.private
	if key == "data" || key == "stringData" {
		d.private = true
		d.unsharable++ // what is around it, too: it may be a secret
	}
	ok := d.anyMember(at, key)
	d.private = was || ok && at == wholeObject && key == "kind" && d.pairs[len(d.pairs)-1].any == "Secret"
	return ok
}

// anyMember reads a member of an object, and puts it on the stack.
func (d *reader) anyMember(at site, key string) bool {
	v, ok := any(nil), false
	switch within := d.within(at, key); within {
	case itsMetadata:
		v, ok = d.container(within)
	case itsAnnotations:
		v, ok = d.sharedDocument(&d.drop.untyped, within)
	default:
		v, ok = d.document()
	}
	d.pairs = append(d.pairs, pair{key: key, any: v})
	return ok
}

// popObject takes pairs off the stack, as an object.
func (d *reader) popObject(at site, base int) map[string]any {
	if at == itsAnnotations && len(d.pairs) == base {
		return nil
	}
	made := make(map[string]any, len(d.pairs)-base)
	for i := range d.pairs[base:] {
		made[d.pairs[base+i].key] = d.pairs[base+i].any
	}
	d.pop(base)
	d.made += mapBytes(len(made), textBytes+anyBytes)
	if at == itsMetadata {
		leaveOutEmpty(made)
	}
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
