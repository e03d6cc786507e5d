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
	"github.com/kinformer/cache/internal/keep"
)

// Decoder decodes JSON documents one after another. The members of open objects and the elements of
// open arrays are kept on two stacks. Closing an object or array pops its entries and copies them
// into a map or slice of the exact size:
//
//	{"a":1,"b":[2,3   members  a:1   values  2 3
type Decoder struct {
	scan.Scanner
	share.Session

	brackets scan.Brackets // empty if this document shares nothing
	values   []any         // elements of the open arrays
	members  []member      // members of the open objects
	items    bool          // the topmost object has items, of which not all is kept
}

// member is a member of a JSON object.
type member struct {
	key   string
	value any
	none  bool // nothing of the value is kept
}

// Begin begins a document.
func (d *Decoder) Begin(data []byte, o share.Options) {
	d.Scanner.Begin(data)
	d.items = false
	if d.Session.Enter(o, len(data)); d.Shares() {
		d.brackets.Find(data)
	}
}

// Finish ends the document. It returns an error if read is false.
func (d *Decoder) Finish(read bool) error {
	d.Session.Leave(d.Pos)
	d.brackets.None()
	d.values, d.members = Emptied(d.values), Emptied(d.members)
	return d.Scanner.Finish(read)
}

var decoders = sync.Pool{New: func() any { return new(Decoder) }}

func begin(data []byte, o share.Options) *Decoder {
	d := decoders.Get().(*Decoder)
	d.Begin(data, o)
	return d
}

func (d *Decoder) finish(read bool) error {
	defer decoders.Put(d)
	return d.Finish(read)
}

// mostKept is the largest capacity, in elements, of a stack that is reused for the next document.
const mostKept = 4 << 10

// Emptied returns an empty stack that references nothing. Popped elements must have been cleared.
func Emptied[T any](stack []T) []T {
	if cap(stack) > mostKept {
		return nil
	}
	clear(stack)
	return stack[:0]
}

// Part returns the object or array at the current position. It reports whether to look it up in the
// table of parts.
func (d *Decoder) Part() (scan.Bracket, bool) {
	b, ok := d.brackets.Next(&d.Scanner)
	return b, ok && d.Seeks(int(b.End-b.Begin))
}

// Names returns the path of names to the current position.
func (d *Decoder) Names() string { return scan.Names(d.Data[:d.Pos]) }

// Value decodes any value.
func (d *Decoder) Value() (any, bool) {
	switch d.Peek() {
	case '{', '[':
		return d.shared()
	case '"':
		text, ok := d.Text()
		if !ok {
			return nil, false
		}
		return d.InternAny(text), true
	case 't':
		return true, d.Literal("true")
	case 'f':
		return false, d.Literal("false")
	case 'n':
		return nil, d.Literal("null")
	}
	return d.number()
}

func (d *Decoder) number() (any, bool) {
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

// site is the site of all objects and arrays in documents.
var site = &share.Site{Type: reflect.TypeFor[any]()}

// shared decodes an object or array. If the table has a part with the same bytes, shared returns
// its value.
func (d *Decoder) shared() (any, bool) {
	b, sought := d.Part()
	if !sought {
		return d.container()
	}
	known, x := d.Session.Find(site, d.Data[b.Begin:b.End])
	if known != nil {
		if d.Due() {
			known = d.Checked(known, d.Names, d.decodeAgain)
		}
		return known.Any(), d.Leap(b)
	}
	v, ok := d.container()
	if ok && d.Pos == int(b.End) && d.Enters(x) {
		d.Add(x, share.ValueOf(v), 0)
	}
	return v, ok
}

// decodeAgain decodes the bytes of a part without sharing, to check the value in the table.
func (d *Decoder) decodeAgain(raw []byte, p mem.Place) bool {
	r := begin(raw, share.Options{})
	r.Depth = d.Depth
	v, ok := r.container()
	mem.Set(p, v)
	return r.finish(ok) == nil
}

// container decodes an object or array.
func (d *Decoder) container() (any, bool) {
	if d.Is('{') {
		return anyOf(d.object(false, nil))
	}
	return anyOf(d.array(nil))
}

// kept decodes those parts of any value that of keeps; nil: all. A value of which only parts are kept is never
// shared, but these parts may be.
func (d *Decoder) kept(of *keep.Fields) (any, bool) {
	if of == nil || of.All() {
		return d.Value()
	}
	switch d.Peek() {
	case '{':
		return anyOf(d.object(false, of))
	case '[':
		return anyOf(d.array(of))
	}
	return d.Value()
}

// anyOf returns v as an interface, or nil if ok is false.
func anyOf[T any](v T, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return v, true
}

// object decodes those members of an object that of keeps; nil: all. The data and stringData of any object are
// treated as those of a secret, at any depth.
func (d *Decoder) object(topmost bool, of *keep.Fields) (map[string]any, bool) {
	if !d.Open('{', "not an object") {
		return nil, false
	}
	if d.Peek() == '}' {
		return map[string]any{}, d.Close()
	}
	base, before := len(d.members), d.Private
	for {
		name, ok := d.Name()
		if !ok || !d.anyMember(topmost, name, of) {
			return nil, false
		}
		if another, ok := d.More('}'); !another {
			d.Private = before
			return d.popObject(base), ok
		}
	}
}

// Omit skips a value that is not decoded.
func (d *Decoder) Omit() bool {
	begin := d.Pos
	ok := d.Skip()
	d.Skipped += d.Pos - begin
	return ok
}

// anyMember decodes a member of an object and pushes it. If it is the kind of a topmost object, and
// the object is a Secret, d stays private for the rest of the object.
func (d *Decoder) anyMember(topmost bool, name []byte, of *keep.Fields) bool {
	if of != nil {
		d.items = d.items || topmost && string(name) == "items"
		if of = of.Of(string(name)); of == nil {
			return d.Omit()
		}
	}
	key, was := d.Intern(name), d.Private
	if key == "data" || key == "stringData" {
		d.Private = true
		d.Unsharable++ // the enclosing object may be a Secret: it must not be shared either
	}
	v, ok := d.kept(of)
	members, is := v.(map[string]any)
	d.members = append(d.members, member{key: key, value: v, none: is && len(members) == 0 && of != nil && !of.All()})
	d.Private = was || topmost && key == "kind" && v == "Secret"
	return ok
}

// popObject pops members down to base and returns them as an object.
func (d *Decoder) popObject(base int) map[string]any {
	made := make(map[string]any, len(d.members)-base)
	for _, m := range d.members[base:] { // of two with one key, the last one counts
		if made[m.key] = m.value; m.none {
			delete(made, m.key)
		}
	}
	clear(d.members[base:])
	d.members = d.members[:base]
	return made
}

func (d *Decoder) array(of *keep.Fields) ([]any, bool) {
	if !d.Open('[', "not an array") {
		return nil, false
	}
	if d.Peek() == ']' {
		return []any{}, d.Close()
	}
	base := len(d.values)
	for {
		v, ok := d.kept(of)
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
