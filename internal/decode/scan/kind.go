// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"

	"github.com/kinformer/cache/internal/decode/mem"
)

// client-go reads the kind and apiVersion of a whole object by themselves, with encoding/json, and
// goes by them. So it takes Kind and KIND for kind, also beside it, and refuses an object in which
// one of them is no text, or an apiVersion that has two slashes, whatever the fields of its type
// take. Here all of that is given up.

var kindName, versionName = []byte("kind"), []byte("apiVersion")

// Key reads the name of a member up to its value.
func (d *Scanner) Key() ([]byte, bool) {
	if d.Peek() != '"' {
		return nil, d.GiveUp("no name of a member")
	}
	name, ok := d.Text()
	if !ok {
		return nil, false
	}
	if d.Peek() != ':' {
		return nil, d.GiveUp("no colon")
	}
	d.Pos++
	d.Peek()
	return name, true
}

// Name reads the name of a member that is not known beforehand, up to its value.
func (d *Scanner) Name() ([]byte, bool) {
	name, ok := d.Key()
	return name, ok && d.TellsKind(name)
}

// TellsKind reports whether the member of that name, whose value is next, tells client-go no more
// than its exact name does.
func (d *Scanner) TellsKind(name []byte) bool {
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
		return d.GiveUp("a kind or apiVersion that is no text")
	}
	text := d.Data[d.Pos:min(TextEnd(d.Data, d.Pos+1), len(d.Data))]
	return kind || IsVersion(mem.View(text)) && !bytes.Contains(text, []byte(`\u`)) || d.GiveUp("an odd apiVersion")
}

// IsVersion reports whether client-go takes a text for an apiVersion.
func IsVersion(text string) bool { return strings.Count(text, "/") <= 1 }
