// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// Former is an object that was decoded before, of the type of the plan, with its row.
type Former struct {
	Object any
	Row    Row
}

// errWritten says that a program has written to a part of the former object.
var errWritten = errors.New("a part of the former object was written to")

// Update is Read for an object of which former, unless it is zero, is another version: parts that have
// not changed are those of the former object, which is not written to, and must not be. It returns the
// row of the object.
//
// Changed parts are looked up in the tables: other objects may have changed alike, and would else each
// keep a copy. About one in a thousand of the parts that are taken over is decoded anew and compared.
// If a program has written to it, that is reported, and the object is decoded without the former one.
func (p *Plan) Update(data []byte, into any, of Former, o share.Options) (Row, error) {
	v := reflect.ValueOf(into)
	switch {
	case v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t:
		return nil, fmt.Errorf("%w: a plan of %v was given a %T", scan.ErrGiveUp, p.t, into)
	case p.layout == nil:
		return nil, p.Read(data, into, o)
	}
	var from former
	if of.Row != nil && reflect.TypeOf(of.Object) == v.Type() && !reflect.ValueOf(of.Object).IsNil() {
		from = former{mem.Of(reflect.ValueOf(of.Object)), of.Row}
	}
	row, err := p.update(data, mem.Of(v), from, o)
	if errors.Is(err, errWritten) {
		v.Elem().SetZero()
		return p.update(data, mem.Of(v), former{}, o)
	}
	return row, err
}

func (p *Plan) update(data []byte, into mem.Place, from former, o share.Options) (Row, error) {
	o.Rest = from.place != nil
	r := updater{reader: newReader(data, o), trim: o.Trim}
	r.Sharable, r.words = true, r.rowMemory[:0]
	read := r.message(p.layout, into, from, len(data))
	row := append(make(Row, 0, len(r.words)), r.words...)
	if r.rowMemory = r.words; cap(r.words) > mostRowMemory {
		r.rowMemory = nil
	}
	err := r.release(read || r.written)
	if r.written {
		err = errWritten
	}
	return row, err
}

// mostRowMemory is how many words a reader keeps room for.
const mostRowMemory = 8 << 10

// fewestElements have words of their own. A list of one is its element.
const fewestElements = 2

// former is a message, or a field of one, of the former object. The zero value is none.
type former struct {
	place mem.Place
	words []uint64 // of its parts
}

// updater reads an object by parts, and makes its row.
type updater struct {
	*reader
	trim    func(*metav1.ObjectMeta) // of Options
	words   []uint64                 // of the parts that were read
	written bool                     // a part of the former object was written to
}

// message is fields.message by parts.
func (r *updater) message(l *layout, p mem.Place, from former, end int) bool {
	if r.Depth++; r.Depth > scan.Deepest {
		return r.GiveUp("too deep")
	}
	r.reached = max(r.reached, r.Depth)
	for seen := uint64(0); r.Pos < end; {
		begin := r.Pos
		tag, ok := r.Tag(end)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(l.fields)) || l.fields[number].tag == 0 {
			if !r.Pass(tag&7, end) {
				return false
			}
			continue
		}
		switch {
		case l.fields[number].tag != tag:
			return r.GiveUp("a field in another wire type")
		case seen>>number&1 != 0:
			return r.GiveUp("a field twice, or not in one piece")
		}
		seen |= 1 << number
		_, to, ok := r.Run(tag, end)
		if !ok || !r.field(l, number, p, &from, wordOf(r.Data[begin:to], number), to) {
			return false
		}
	}
	r.Depth--
	return true
}

// field takes the field that ends there over from the former message, or reads it.
func (r *updater) field(l *layout, number uint64, p mem.Place, from *former, word uint64, to int) bool {
	field, part := &l.fields[number], &l.parts[number]
	p = mem.Offset(p, field.offset)
	was, words := from.field(number, field.offset)
	if len(words) > 0 && words[0]&^hasParts == word && word&sumBits != 0 {
		return r.take(field, part, p, was.place, words, to)
	}
	return r.read(field, part, p, was, word, to) // of several fields only the first; then message meets the tag again
}

// field returns a field of a former message, and its words with those of its parts. Fields are written
// in the order of their numbers. If they are not, they are not found, and read anew.
func (f *former) field(number uint64, offset uintptr) (field former, words []uint64) {
	for len(f.words) > 0 && f.words[0]&numberMask < number {
		f.words = f.words[1+partsOf(f.words):]
	}
	if len(f.words) == 0 || f.words[0]&numberMask != number {
		return former{}, nil
	}
	words = f.words[:1+partsOf(f.words)]
	return former{mem.Offset(f.place, offset), words[min(2, len(words)):]}, words
}

// partsOf returns how many words follow the first one for its parts, with the one that says so.
func partsOf(words []uint64) int {
	if words[0]&hasParts == 0 {
		return 0
	}
	return 1 + int(words[1])
}

// take takes a field over from a former message, with its words.
func (r *updater) take(field *wireField, part *partOf, p, from mem.Place, words []uint64, to int) bool {
	if r.Due() && !r.isAsWritten(part, part.t, from, r.Data[r.Pos:to], field.wire) {
		return false
	}
	part.take(p, from)
	r.words = append(r.words, words...)
	r.Pos = to
	return true
}

// read reads a field that has changed, or that has no former one.
func (r *updater) read(field *wireField, part *partOf, p mem.Place, from former, word uint64, to int) (ok bool) {
	at, unsharable := len(r.words), r.Unsharable
	r.words = append(r.words, word, 0) // the second is how many words its parts take
	switch {
	case part.within != nil:
		end, long := r.Length(to)
		ok = long && r.message(part.within, p, from, end)
	case part.list != nil:
		ok = r.elements(field, part, p, from, to)
	default:
		ok = field.read(r.reader, p, to)
	}
	if parts := len(r.words) - at - 2; parts > 0 {
		r.words[at] |= hasParts
		r.words[at+1] = uint64(parts)
	} else {
		r.words = r.words[:at+1]
	}
	r.note(at, unsharable)
	return ok
}

// elements reads a list of messages. Those that the former list has are taken over from it.
func (r *updater) elements(field *wireField, part *partOf, p mem.Place, from former, end int) bool {
	if len(from.words) == 0 || mem.Get[mem.Slice](from.place).Len != len(from.words) {
		return r.newElements(field, part, p, end)
	}
	n, _, ok := r.Run(field.tag, end)
	if !ok {
		return false
	}
	c := matching{former: mem.Get[mem.Slice](from.place).First, words: from.words}
	list := mem.MakeList(part.t, p, n)
	for i := range n {
		if !r.Again(i, end) {
			return false
		}
		to, ok := r.Length(end)
		if !ok || !r.element(part, mem.Offset(list, uintptr(i)*part.list.size), &c, n-i, to) {
			return false
		}
	}
	if n < fewestElements {
		r.words = r.words[:len(r.words)-n]
	}
	return true
}

// newElements reads a list of messages none of which is taken over: perhaps the whole list is shared.
func (r *updater) newElements(field *wireField, part *partOf, p mem.Place, end int) bool {
	begin, unsharable := r.Pos, r.Unsharable
	if !field.read(r.reader, p, end) {
		return false
	}
	n := mem.Get[mem.Slice](p).Len
	if n < fewestElements {
		return true
	}
	behind := r.Pos
	r.Pos = begin
	for i := range n {
		r.Again(i, end)
		to, _ := r.Length(end)
		r.words = append(r.words, wordOf(r.Data[r.Pos:to], 0))
		r.note(len(r.words)-1, unsharable) // which of them it was, the next version will know
		r.Pos = to
	}
	return r.Pos == behind
}

// element reads an element that ends there, or takes it over.
func (r *updater) element(part *partOf, p mem.Place, c *matching, left, to int) bool {
	raw := r.Data[r.Pos:to]
	word, at, unsharable := wordOf(raw, 0), len(r.words), r.Unsharable
	r.words = append(r.words, word)
	i := -1
	if word&sumBits != 0 {
		i = c.find(word, left)
	}
	if i < 0 {
		ok := part.list.message(r.reader, p, to)
		r.note(at, unsharable)
		return ok
	}
	from := mem.Offset(c.former, uintptr(i)*part.list.size)
	t := part.t.Elem()
	if r.Due() && !r.isAsWritten(part, t, from, raw, part.list.message) {
		return false
	}
	mem.Copy(t, p, from)
	r.Pos = to
	return true
}

// note takes the sum from a word if what was read since then must not be in two objects.
func (r *updater) note(at, unsharable int) {
	if r.Unsharable != unsharable {
		r.words[at] &^= sumBits
	}
}

// isAsWritten reports whether a part of the former object is what its bytes mean, by what reads them.
func (r *updater) isAsWritten(part *partOf, t reflect.Type, from mem.Place, raw []byte, read func(*reader, mem.Place, int) bool) bool {
	r.written = !r.IsAsRead(part.in, mem.Pointer(t, from), func(p mem.Place) bool {
		anew := newReader(raw, share.Options{})
		anew.Depth = r.Depth
		ok := anew.release(read(anew, p, len(raw))) == nil
		if r.trim != nil && t == part.t { // and no element of it
			part.trim(p, r.trim)
		}
		return ok
	})
	return !r.written
}

// trim leaves out of the metadata of an object, or of a field of that, at p what was left out of the
// former object's.
func (f *partOf) trim(p mem.Place, trim func(*metav1.ObjectMeta)) {
	var metadata metav1.ObjectMeta
	switch {
	case f.t == reflect.TypeFor[metav1.ObjectMeta]() && f.within != nil:
		trim(mem.Get[metav1.ObjectMeta](p))
	case f.in == "ObjectMeta.managedFields":
		metadata.ManagedFields = *mem.Get[[]metav1.ManagedFieldsEntry](p)
		trim(&metadata)
		mem.Set(p, metadata.ManagedFields)
	case f.in == "ObjectMeta.annotations":
		metadata.Annotations = *mem.Get[map[string]string](p)
		trim(&metadata)
		mem.Set(p, metadata.Annotations)
	}
}
