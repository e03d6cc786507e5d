// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// Former is the former version of an object: the object, of the type of the plan, and its row.
type Former struct {
	Object any
	Row    Row
}

// errWritten means that a program has modified a part of the former object.
var errWritten = errors.New("a part of the former object was written to")

// Update is Read for a new version of the former object of, and returns the row of the new version.
// If of is zero, there is no former object. The new object shares the unchanged parts with the
// former one. Update does not modify the former object, and no caller may.
//
//	former   metadata [name labels]  spec [containers [a b]]   status
//	               same: copied       same, except b:          changed: decoded
//	new      metadata [name labels]  spec [containers [a b']]  status'
//
// Changed parts are looked up in the tables, because other objects may have changed in the same
// way. About one in a thousand of the copied parts is also decoded and compared. If a program has
// modified it, Update reports this and decodes the object without the former one.
func (p *Plan) Update(data []byte, into any, of Former, o share.Options) (Row, error) {
	if p.layout == nil {
		return nil, p.Read(data, into, o)
	}
	to, err := scan.Target(into, p.t)
	if err != nil {
		return nil, err
	}
	var from former
	if of.Row != nil {
		if place, err := scan.Target(of.Object, p.t); err == nil {
			from = former{place, of.Row}
		}
	}
	row, err := p.update(data, to, from, o)
	if errors.Is(err, errWritten) {
		reflect.ValueOf(into).Elem().SetZero()
		return p.update(data, to, former{}, o)
	}
	return row, err
}

func (p *Plan) update(data []byte, into mem.Place, from former, o share.Options) (Row, error) {
	o.Rest = from.place != nil
	r := updater{decoder: newDecoder(data, o), trim: o.Trim}
	r.Sharable, r.words = true, r.wordBuffer[:0]
	read := r.message(p.layout, into, from, len(data))
	row := append(make(Row, 0, len(r.words)), r.words...)
	if r.wordBuffer = r.words; cap(r.words) > mostWords {
		r.wordBuffer = nil
	}
	err := r.release(read || r.written)
	if r.written {
		err = errWritten
	}
	return row, err
}

// mostWords is the largest capacity, in words, that a decoder reuses.
const mostWords = 8 << 10

// fewestElements is the length from which the elements of a list have words. The word of a shorter
// list suffices.
const fewestElements = 2

// former is a message of the former object, or a field of one. The zero value is none.
type former struct {
	place mem.Place
	words []uint64 // the words of its parts
}

// updater decodes an object part by part, and builds its row.
type updater struct {
	*decoder
	trim    func(*metav1.ObjectMeta) // Options.Trim
	words   []uint64                 // of the parts decoded so far
	written bool                     // a part of the former object was modified by a program
}

// message is fields.message, part by part.
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
			r.Skipped += r.Pos - begin
			continue
		}
		switch {
		case l.fields[number].tag != tag:
			return r.GiveUp("a field with another wire type")
		case seen>>number&1 != 0:
			return r.GiveUp("a repeated or split field")
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

// field decodes the field that ends at to, or copies it from the former message.
func (r *updater) field(l *layout, number uint64, p mem.Place, from *former, word uint64, to int) bool {
	field, part := &l.fields[number], &l.parts[number]
	p = mem.Offset(p, field.offset)
	was, words := from.field(number, field.offset)
	if len(words) > 0 && words[0]&^hasParts == word && word&sumBits != 0 {
		return r.take(field, part, p, was.place, words, to)
	}
	return r.read(field, part, p, was, word, to) // of several fields with a tag this decodes the first; message then finds the tag again and gives up
}

// field returns a field of a former message and its words, including those of its parts. It
// advances f, so fields must be requested in the order of their numbers, in which servers write
// them. Other fields are not found, and are decoded.
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

// partsOf returns the number of words after the first one that describe its parts, including the
// count.
func partsOf(words []uint64) int {
	if words[0]&hasParts == 0 {
		return 0
	}
	return 1 + int(words[1])
}

// take copies a field and its words from a former message.
func (r *updater) take(field *wireField, part *partOf, p, from mem.Place, words []uint64, to int) bool {
	if r.Due() && !r.isAsWritten(part, part.t, from, r.Data[r.Pos:to], field.wire) {
		return false
	}
	part.take(p, from)
	r.words = append(r.words, words...)
	r.Pos = to
	return true
}

// read decodes a field that has changed or is new.
func (r *updater) read(field *wireField, part *partOf, p mem.Place, from former, word uint64, to int) (ok bool) {
	at, unsharable := len(r.words), r.Unsharable
	r.words = append(r.words, word, 0) // the second word is the number of the words of its parts
	switch {
	case part.within != nil:
		end, long := r.Length(to)
		ok = long && r.message(part.within, p, from, end)
	case part.list != nil:
		ok = r.elements(field, part, p, from, to)
	default:
		ok = field.read(r.decoder, p, to)
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

// elements decodes a list of messages. It copies the elements that the former list has.
func (r *updater) elements(field *wireField, part *partOf, p mem.Place, from former, end int) bool {
	if len(from.words) == 0 || mem.Get[mem.Slice](from.place).Len != len(from.words) {
		return r.newElements(field, p, end)
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

// newElements decodes a list none of whose elements is copied. The whole list may be shared.
func (r *updater) newElements(field *wireField, p mem.Place, end int) bool {
	begin, unsharable := r.Pos, r.Unsharable
	if !field.read(r.decoder, p, end) {
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
		r.note(len(r.words)-1, unsharable) // the next row shows which element is unsharable
		r.Pos = to
	}
	return r.Pos == behind
}

// element decodes the element that ends at to, or copies it from the former list.
func (r *updater) element(part *partOf, p mem.Place, c *matching, left, to int) bool {
	raw := r.Data[r.Pos:to]
	word, at, unsharable := wordOf(raw, 0), len(r.words), r.Unsharable
	r.words = append(r.words, word)
	i := -1
	if word&sumBits != 0 {
		i = c.find(word, left)
	}
	if i < 0 {
		ok := part.list.message(r.decoder, p, to)
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

// note clears the hash of a word if a value decoded since then must not be in two objects. The part
// is then never copied.
func (r *updater) note(at, unsharable int) {
	if r.Unsharable != unsharable {
		r.words[at] &^= sumBits
	}
}

// isAsWritten reports whether a part of the former object equals the value that read makes of its
// bytes.
func (r *updater) isAsWritten(part *partOf, t reflect.Type, from mem.Place, raw []byte, read func(*decoder, mem.Place, int) bool) bool {
	r.written = !r.IsAsRead(func() string { return part.in }, mem.Pointer(t, from), func(p mem.Place) bool {
		d := newDecoder(raw, share.Options{})
		d.Depth = r.Depth
		ok := d.release(read(d, p, len(raw))) == nil
		if r.trim != nil && t == part.t { // a field of the metadata, not an element of it
			part.trim(p, r.trim)
		}
		return ok
	})
	return !r.written
}

// trim applies the function to the metadata, or to the field of metadata, at p. The former object
// was trimmed in the same way.
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
