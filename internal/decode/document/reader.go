// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// Reader reads documents in JSON, one after the other.
type Reader struct {
	scan.Scanner
	share.Session

	brackets scan.Brackets // none if this document shares nothing
	values   []any         // stack of arrays that are being read
	members  []member      // stack of objects that are being read
}

// member is a member of an object.
type member struct {
	key   string
	value any
}

// Begin begins a document.
func (d *Reader) Begin(data []byte, o share.Options) {
	d.Scanner.Begin(data)
	if d.Session.Enter(o, len(data)); d.Shares() {
		d.brackets.Find(data)
	}
}

// Finish ends the document, and returns an error if it was not read to its end.
func (d *Reader) Finish(read bool) error {
	d.Session.Leave(d.Pos)
	d.brackets.None()
	d.values, d.members = Emptied(d.values), Emptied(d.members)
	return d.Scanner.Finish(read)
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

func begin(data []byte, o share.Options) *Reader {
	d := readers.Get().(*Reader)
	d.Begin(data, o)
	return d
}

func (d *Reader) finish(read bool) error {
	defer readers.Put(d)
	return d.Finish(read)
}

// mostKept is how many elements of a stack are kept for the next document.
const mostKept = 4 << 10

// Emptied returns a stack with nothing on it, that refers to nothing. What was popped was cleared
// then.
func Emptied[T any](stack []T) []T {
	if cap(stack) > mostKept {
		return nil
	}
	clear(stack)
	return stack[:0]
}

// Part returns the object or array that begins here, if it is to be looked for in the table of
// parts.
func (d *Reader) Part() (scan.Bracket, bool) {
	b, ok := d.brackets.Next(&d.Scanner)
	return b, ok && d.Seeks(int(b.End-b.Begin))
}

// Names returns the names that lead to where the reader is.
func (d *Reader) Names() string { return scan.Names(d.Data[:d.Pos]) }

// Value reads any value.
func (d *Reader) Value() (any, bool) {
	switch d.Peek() {
	case '{', '[':
		return d.shared()
	case '"':
		text, ok := d.Text()
		if !ok {
			return nil, false
		}
		return d.Boxed(text), true
	case 't':
		return true, d.Literal("true")
	case 'f':
		return false, d.Literal("false")
	case 'n':
		return nil, d.Literal("null")
	}
	return d.number()
}

func (d *Reader) number() (any, bool) {
	text, whole, ok := d.Number()
	if !ok {
		return nil, false
	}
	if whole {
		if n, fits := scan.ParseInt(text); fits {
			return n, true
		}
	}
	n, err := strconv.ParseFloat(mem.View(text), 64)
	if err != nil {
		return nil, d.GiveUp("a number out of range")
	}
	return n, true
}

// site stands for all objects and arrays in documents.
var site = &share.Site{Type: reflect.TypeFor[any]()}

// shared reads an object or an array, which objects share if it was written alike before.
func (d *Reader) shared() (any, bool) {
	b, sought := d.Part()
	if !sought {
		return d.container()
	}
	known, x := d.Session.Find(site, d.Data[b.Begin:b.End])
	if known != nil {
		if d.Due() {
			known = d.Checked(known, d.Names(), d.anew)
		}
		return known.Any(), d.Leap(b)
	}
	v, ok := d.container()
	if ok && d.Pos == int(b.End) && d.Enters(x) {
		d.Add(x, share.ValueOf(v), 0)
	}
	return v, ok
}

// anew decodes a part that was found once more, for a check.
func (d *Reader) anew(raw []byte, p mem.Place) bool {
	r := begin(raw, share.Options{})
	r.Depth = d.Depth
	v, ok := r.container()
	mem.Set(p, v)
	return r.finish(ok) == nil
}

// container reads an object or an array.
func (d *Reader) container() (any, bool) {
	if d.Is('{') {
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
func (d *Reader) object(topmost bool) (map[string]any, bool) {
	if !d.Open('{', "not an object") {
		return nil, false
	}
	if d.Peek() == '}' {
		return map[string]any{}, d.Close()
	}
	base, before := len(d.members), d.Private
	for {
		name, ok := d.Name()
		if !ok || !d.anyMember(topmost, d.Kept(name)) {
			return nil, false
		}
		if another, ok := d.More('}'); !another {
			d.Private = before
			return d.popObject(base), ok
		}
	}
}

// anyMember reads a member of an object, and puts it on the stack. It leaves the reader private for
// the rest of a topmost object if this is the kind of a secret.
func (d *Reader) anyMember(topmost bool, key string) bool {
	was := d.Private
	if key == "data" || key == "stringData" {
		d.Private = true
		d.Unsharable++ // what is around it, too: it may be a secret
	}
	v, ok := d.Value()
	d.members = append(d.members, member{key: key, value: v})
	d.Private = was || topmost && key == "kind" && v == "Secret"
	return ok
}

// popObject takes pairs off the stack, as an object.
func (d *Reader) popObject(base int) map[string]any {
	made := make(map[string]any, len(d.members)-base)
	for i := range d.members[base:] {
		made[d.members[base+i].key] = d.members[base+i].value
	}
	clear(d.members[base:])
	d.members = d.members[:base]
	return made
}

func (d *Reader) array() ([]any, bool) {
	if !d.Open('[', "not an array") {
		return nil, false
	}
	if d.Peek() == ']' {
		return []any{}, d.Close()
	}
	base := len(d.values)
	for {
		v, ok := d.Value()
		if !ok {
			return nil, false
		}
		d.values = append(d.values, v)
		if another, ok := d.More(']'); !another {
			made := make([]any, len(d.values)-base)
			copy(made, d.values[base:])
			clear(d.values[base:])
			d.values = d.values[:base]
			return made, ok
		}
	}
}
