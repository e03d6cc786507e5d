// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"math/rand/v2"
	"reflect"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/keep"
)

// Options are the options of one call of a decoder. The zero value is valid.
type Options struct {
	Intern *Intern  // the table of strings; nil: strings are not shared
	Share  *Sharing // the table of maps, lists and messages; nil: they are not shared
	// Checks verifies every part that is found in the table, so that the value is correct even if a
	// program has modified parts.
	Checks bool
	// Rest means that only the parts that differ from a former object are decoded. Whether they are
	// found in the table does not decide whether later objects look up parts.
	Rest bool
	// Trim, which may be nil, removes from the metadata of an object the fields that were removed
	// from former objects after decoding.
	Trim func(*metav1.ObjectMeta)
	// Keep is what is kept of an unstructured object; nil: all. Of others, their plan knows it.
	Keep *keep.Fields
	// Read, which may be nil, counts the bytes of objects, but for the rest of one.
	Read *Read
}

// Read is how many bytes objects have, and how many of these were decoded. The zero value is ready for
// use. It is safe for concurrent use.
type Read struct{ all, decoded atomic.Int64 }

func (r *Read) add(all, decoded int) {
	r.all.Add(int64(all))
	r.decoded.Add(int64(decoded))
}

// Decoded estimates how many of n bytes of an object are decoded, by the average of those counted; all if
// r is nil or has counted none.
func (r *Read) Decoded(n int) int {
	if r == nil || r.all.Load() == 0 {
		return n
	}
	return int(float64(n) * float64(r.decoded.Load()) / float64(r.all.Load()))
}

const (
	// smallestPart is the smallest part, in bytes, that is looked up. Decoding a smaller one takes
	// less time than finding it.
	smallestPart = 16
	// lookedFor bounds the lookups of an object, in bytes of parts per byte of the object. The
	// average byte of a pod is in 4 parts.
	lookedFor = 16
	// checkedPart is the average number of parts found per part that is decoded again and compared.
	checkedPart = 1024
)

// Session is the use of the tables for one document. It counts without synchronization, and adds
// its counts to the tables in Leave.
type Session struct {
	// Private keeps strings and parts out of the tables.
	Private bool
	// Unsharable counts decoded values that must not be in a shared part: reading the value may
	// modify it, which is a race between the objects that share it, or the value is secret. If the
	// count changes while a part is decoded, the part is not added.
	Unsharable int
	// Sharable means that the decoded value may be referenced by several objects.
	Sharable bool
	// Looked is the number of bytes of the parts that were looked up.
	Looked int
	// Skipped is the number of bytes of members that were not decoded.
	Skipped int

	texts   *Intern
	share   *Sharing
	parts   *Parts // of share; nil if this document does not look up parts
	emptied int64  // parts.emptied at Enter
	size    int    // of the document, in bytes
	saved   int    // bytes of the parts that were found
	read    *Read  // Options.Read
	rest    bool   // Options.Rest
	checks  bool   // Options.Checks
	toCheck int    // parts to find until one is checked; 0 before the first document

	hits, misses     int64 // of strings
	shared, unshared int64 // parts found and not found
}

// Enter begins a document of size bytes.
func (s *Session) Enter(o Options, size int) {
	s.Private, s.texts, s.checks, s.size = false, o.Intern, o.Checks, size
	s.share, s.parts, s.rest = o.Share, o.Share.parts(o.Rest), o.Rest
	s.read = o.Read
	s.saved, s.Looked, s.Skipped = 0, 0, 0
	if s.Sharable = s.parts != nil; s.Sharable {
		s.emptied = s.parts.emptied.Load()
	}
	if s.toCheck == 0 {
		s.toCheck = firstCheck()
	}
}

// Leave ends the document, after read bytes of it, and releases the tables.
func (s *Session) Leave(read int) {
	if s.texts != nil {
		s.texts.count(&s.hits, &s.misses)
	}
	if s.parts != nil {
		s.parts.count(&s.shared, &s.unshared)
		if !s.rest {
			s.share.note(s.saved, read-s.Skipped)
		}
	}
	if s.read != nil && !s.rest {
		s.read.add(read, read-s.Skipped)
	}
	s.texts, s.share, s.parts, s.read = nil, nil, nil, nil
}

// Intern returns b as a string that does not refer to the document. A short string is shared.
func (s *Session) Intern(b []byte) string {
	if s.texts == nil || s.Private || len(b) > longestInterned || len(b) == 0 {
		return string(b)
	}
	hash, e := s.texts.find(b)
	if e != nil {
		s.hits++
		return e.text
	}
	s.misses++
	text := string(b)
	if s.texts.again(hash) {
		s.texts.enter(&interned{text: text}, 0)
	}
	return text
}

// InternAny is Intern for strings in documents. It saves the allocation of the interface.
func (s *Session) InternAny(b []byte) any {
	if s.texts == nil || s.Private || len(b) > longestInterned || len(b) == 0 {
		return string(b)
	}
	hash, e := s.texts.find(b)
	switch {
	case e == nil:
		s.misses++
		text := string(b)
		var boxed any = text
		if s.texts.again(hash) {
			s.texts.enter(&interned{text: text, boxed: boxed}, 0)
		}
		return boxed
	case e.boxed == nil:
		e = &interned{text: e.text, boxed: e.text}
		s.texts.enter(e, 0)
	}
	s.hits++
	return e.boxed
}

// Shares reports whether parts are looked up and added.
func (s *Session) Shares() bool { return s.parts != nil && !s.Private }

// Seeks reports whether to look up a part of size bytes. All lookups for a document take at most
// lookedFor times its bytes, however its parts are nested.
func (s *Session) Seeks(size int) bool {
	if !s.Shares() || size < smallestPart || s.Looked+size > lookedFor*s.size {
		return false
	}
	s.Looked += size
	return true
}

// Sought describes a part that was not found.
type Sought struct {
	of         *Site
	raw        []byte
	hash       uint64
	unsharable int
}

// Find returns the part decoded from raw at the site, or nil and the argument for Enters and Add.
func (s *Session) Find(of *Site, raw []byte) (*Part, Sought) {
	hash, known := s.parts.find(of, raw)
	if known == nil {
		s.unshared++
		return nil, Sought{of, raw, hash, s.Unsharable}
	}
	s.shared++
	s.saved += len(raw)
	return known, Sought{}
}

// Enters reports whether to add the value decoded since Find: nothing in it is unsharable, and it
// was missed before.
func (s *Session) Enters(x Sought) bool {
	return s.Unsharable == x.unsharable && s.parts.again(x.hash)
}

// Add adds the value of a part to the table. deep is the nesting depth of its messages.
func (s *Session) Add(x Sought, value Value, deep int) {
	e := Part{of: x.of, hash: x.hash, raw: x.raw, value: value, Deep: deep}
	if !s.parts.refuses(&e) {
		e.bytes = e.sizeOf()
		s.parts.add(e, s.emptied)
	}
}

// firstCheck returns a random, exponentially distributed interval. No position in an object is
// skipped systematically, and the chance of a check is the same for each part, although decoders
// are created and discarded at any time.
func firstCheck() int { return 1 + int(rand.ExpFloat64()*checkedPart) }

// Due reports whether to check the part that was just found.
func (s *Session) Due() bool {
	if s.toCheck--; s.toCheck > 0 && !s.checks {
		return false
	}
	s.toCheck = firstCheck()
	return true
}

// Checked returns e if its value equals the value that decode makes of its bytes, and otherwise a
// part with the latter value. The function in returns the place of the part; it is called only if they differ.
func (s *Session) Checked(e *Part, in func() string, decode func(raw []byte, p mem.Place) bool) *Part {
	is, was := reflect.New(e.of.Type), mem.Place(nil)
	e.Put(mem.Of(is))
	if s.IsAsRead(in, is, func(p mem.Place) bool { was = p; return decode(e.raw, p) }) {
		return e
	}
	return &Part{of: e.of, hash: e.hash, raw: e.raw, value: ValueAt(e.of.Type, was), Deep: e.Deep}
}

// IsAsRead reports whether the value that the pointer is points to equals the value that decode
// makes, or decode fails. If they differ, a program has modified the value. IsAsRead then reports
// this and empties the table, because the modified memory may also be in smaller and larger parts.
// It does not repair the value: values are never written after decoding.
func (s *Session) IsAsRead(in func() string, is reflect.Value, decode func(p mem.Place) bool) bool {
	was := reflect.New(is.Type().Elem())
	switch {
	case !decode(mem.Of(was)):
		return true
	case reflect.DeepEqual(is.Elem().Interface(), was.Elem().Interface()):
		s.share.reported(nil)
		return true
	}
	s.share.empty()
	s.share.reported(&Written{In: in(), Is: is.Elem(), Was: was.Elem()})
	return false
}
