// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"strings"
)

// client-go reads the kind and apiVersion of a whole object by themselves, with encoding/json, and
// goes by them. So it takes Kind and KIND for kind, also beside it, and refuses an object in which
// one of them is no text, or an apiVersion that has two slashes, whatever the fields of its type
// take. Here all of that is given up.

var kindName, versionName = []byte("kind"), []byte("apiVersion")

// name reads the name of a member that is not known beforehand, up to its value.
func (d *reader) name() ([]byte, bool) {
	name, ok := d.key()
	return name, ok && d.tellsKind(name)
}

// tellsKind reports whether the member of that name, whose value is next, tells client-go no more
// than its exact name does.
func (d *reader) tellsKind(name []byte) bool {
	if d.depth != 1 {
		return true
	}
	kind, version := bytes.EqualFold(name, kindName), bytes.EqualFold(name, versionName)
	switch {
	case !kind && !version:
		return true
	case string(name) != "kind" && string(name) != "apiVersion":
		return d.giveUp("a kind or apiVersion in another spelling")
	case d.is('n'):
		return true
	case !d.is('"'):
		return d.giveUp("a kind or apiVersion that is no text")
	}
	text := d.data[d.pos:min(textEnd(d.data, d.pos+1), len(d.data))]
	return kind || isVersion(view(text)) && !bytes.Contains(text, []byte(`\u`)) || d.giveUp("an odd apiVersion")
}

// kindMember returns the element of a member of the topmost struct, in the place of e.
func kindMember(name string, e element) element {
	kind, version := strings.EqualFold(name, "kind"), strings.EqualFold(name, "apiVersion")
	switch {
	case !kind && !version:
		return e
	case name != "kind" && name != "apiVersion" || e.node != textNode{}:
		return element{node: unsureNode{"an odd field for a kind or apiVersion"}, hearsNull: true}
	case version:
		e.node = versionNode{}
	}
	return e
}

// versionNode reads the apiVersion of an object.
type versionNode struct{}

func (versionNode) json(d *reader, p place) bool {
	return textNode{}.json(d, p) && (isVersion(*get[string](p)) || d.giveUp("an odd apiVersion"))
}

// isVersion reports whether client-go takes a text for an apiVersion.
func isVersion(text string) bool { return strings.Count(text, "/") <= 1 }
