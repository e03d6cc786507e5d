// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Before decoding a whole object, client-go reads its kind and apiVersion with encoding/json, which
// ignores the case of names. So Kind and KIND count as kind, even in an object that also has kind.
// client-go rejects an object in which one of them is not a string, or whose apiVersion has two
// slashes, regardless of the fields of its type. This package gives up on all of these objects.

var kindName, versionName = []byte("kind"), []byte("apiVersion")

// Key reads the name of a member and moves to its value.
func (d *Scanner) Key() ([]byte, bool) {
	if d.Peek() != '"' {
		return nil, d.GiveUp("missing member name")
	}
	name, ok := d.Text()
	if !ok {
		return nil, false
	}
	if d.Peek() != ':' {
		return nil, d.GiveUp("missing colon")
	}
	d.Pos++
	d.Peek()
	return name, true
}

// Name is Key for a member whose name was not checked when the plan was built.
func (d *Scanner) Name() ([]byte, bool) {
	name, ok := d.Key()
	return name, ok && d.CheckKind(name)
}

// CheckKind checks the member with the given name, whose value is next. It gives up if client-go
// would read the member as kind or apiVersion, but the name is spelled differently or the value is
// not valid. Only members of the topmost object are checked.
func (d *Scanner) CheckKind(name []byte) bool {
	if d.Depth != 1 {
		return true
	}
	kind, version := bytes.EqualFold(name, kindName), bytes.EqualFold(name, versionName)
	switch {
	case !kind && !version:
		return true
	case string(name) != "kind" && string(name) != "apiVersion":
		return d.GiveUp("a kind or apiVersion in another spelling")
	case d.Is('n'):
		return true
	case !d.Is('"'):
		return d.GiveUp("a kind or apiVersion that is not a string")
	}
	text := d.Data[d.Pos:min(TextEnd(d.Data, d.Pos+1), len(d.Data))]
	return kind || IsVersion(mem.View(text)) && !bytes.Contains(text, []byte(`\u`)) || d.GiveUp("an unusual apiVersion")
}

// IsVersion reports whether client-go accepts text as an apiVersion.
func IsVersion(text string) bool { return strings.Count(text, "/") <= 1 }
