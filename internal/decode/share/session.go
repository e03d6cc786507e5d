// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"math/rand/v2"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Options are what a caller chooses for a call. The zero value works.
type Options struct {
	Intern *Intern  // shared strings; nil: every value has its own
	Share  *Sharing // shared maps, lists and messages; nil: every value has its own
	// Checks has each part that is found checked: the value is right, whoever has written to parts.
	Checks bool
	// Rest says that only parts that differ from a former object are decoded. How many of them are
	// found in the table does not decide whether later objects look for parts.
	Rest bool
	// Trim, which may be nil, leaves out of the metadata of an object what former objects were left
	// without when they had been read.
	Trim func(*metav1.ObjectMeta)
}

const (
	// smallestPart is the least number of bytes of a part: what is smaller is decoded sooner than
	// it is found.
	smallestPart = 16
	// lookedFor bounds the work for an object: parts with so many times its bytes. Each byte of a
	// pod is in 4 parts, on the average.
	lookedFor = 16
	// checkedPart: of so many parts that are found one is decoded anew and compared.
	checkedPart = 1024
)

// Session is the use of tables by what reads one document.
type Session struct {
	// Private keeps texts and parts out of the tables.
	Private bool
	// Unsharable counts values that may be in no part: reading them may write to them, in
	// goroutines that may be several, or they must not enter a table.
	Unsharable int
	// Sharable says that what is read may be in several objects.
	Sharable bool
	// Looked counts the bytes of parts that were looked for.
	Looked int

	texts   *Intern
	share   *Sharing
	parts   *Parts // of share, if this document looks for parts
	emptied int64  // how often that table was before
	size    int    // bytes of the document
	saved   int    // bytes of parts that were found
	rest    bool   // of Options
	checks  bool   // all parts that are found
	toCheck int    // how many are until one is checked; 0 before the first document

	hits, misses     int64 // of texts
	shared, unshared int64 // parts
}

// Enter begins a document of so many bytes.
func (s *Session) Enter(o Options, size int) {
	s.Private, s.texts, s.checks, s.size = false, o.Intern, o.Checks, size
	s.share, s.parts, s.rest, s.saved, s.Looked = o.Share, o.Share.parts(o.Rest), o.Rest, 0, 0
	if s.Sharable = s.parts != nil; s.Sharable {
		s.emptied = s.parts.emptied.Load()
	}
	if s.toCheck == 0 {
		s.toCheck = firstCheck()
	}
}

// Leave ends the document, of which so many bytes were read, and lets go of the tables.
func (s *Session) Leave(read int) {
	if s.texts != nil {
		s.texts.count(&s.hits, &s.misses)
	}
	if s.parts != nil {
		s.parts.count(&s.shared, &s.unshared)
		if !s.rest {
			s.share.note(s.saved, read)
		}
	}
	s.texts, s.share, s.parts = nil, nil, nil
}

// Kept returns b as a string that does not refer to the document, and is shared if it is short.
func (s *Session) Kept(b []byte) string {
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

// Boxed is Kept for texts in documents.
func (s *Session) Boxed(b []byte) any {
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

// Shares reports whether values may be found in a table of parts, or enter it.
func (s *Session) Shares() bool { return s.parts != nil && !s.Private }

// Seeks reports whether a part of so many bytes is looked for. All that are looked for, of a
// document, are no more than lookedFor times its own bytes, however its parts are nested.
func (s *Session) Seeks(size int) bool {
	if !s.Shares() || size < smallestPart || s.Looked+size > lookedFor*s.size {
		return false
	}
	s.Looked += size
	return true
}

// Sought is a part that was not found.
type Sought struct {
	of         *Site
	raw        []byte
	hash       uint64
	unsharable int
}

// Find returns the part of a site that was decoded from raw, or nil, and what Add needs of it.
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

// Enters reports whether a value that was decoded since it was sought is to be added: nothing in it
// keeps it from a table, and it was asked for before.
func (s *Session) Enters(x Sought) bool {
	return s.Unsharable == x.unsharable && s.parts.again(x.hash)
}

// Add makes the value of a part known, in which so many messages lie in each other.
func (s *Session) Add(x Sought, value Value, deep int) {
	e := Part{of: x.of, hash: x.hash, raw: x.raw, value: value, Deep: deep}
	if !s.parts.refuses(&e) {
		e.bytes = e.sizeOf()
		s.parts.add(e, s.emptied)
	}
}

// firstCheck returns a random interval, so that no place in an object is always skipped. The chance
// is the same for each part, since readers are given up and made at any time.
func firstCheck() int { return 1 + int(rand.ExpFloat64()*checkedPart) }

// Due reports whether the part that was found now is to be checked.
func (s *Session) Due() bool {
	if s.toCheck--; s.toCheck > 0 && !s.checks {
		return false
	}
	s.toCheck = firstCheck()
	return true
}

// Checked returns a part that was found if it is equal to what anew decodes from its bytes, else what
// the part should be.
func (s *Session) Checked(e *Part, in string, anew func(raw []byte, p mem.Place) bool) *Part {
	is, was := reflect.New(e.of.Type), mem.Place(nil)
	e.Put(mem.Of(is))
	if s.IsAsRead(in, is, func(p mem.Place) bool { was = p; return anew(e.raw, p) }) {
		return e
	}
	return &Part{of: e.of, hash: e.hash, raw: e.raw, value: ValueAt(e.of.Type, was), Deep: e.Deep}
}

// IsAsRead reports whether the value that is points to is equal to what anew decodes, if that succeeds.
// Else a program has written to it. This is reported, and the table emptied: what was written to may be
// in any number of its parts, in larger ones than this and in smaller ones. The value is only read:
// nobody may write to it at any time.
func (s *Session) IsAsRead(in string, is reflect.Value, anew func(p mem.Place) bool) bool {
	was := reflect.New(is.Type().Elem())
	switch {
	case !anew(mem.Of(was)):
		return true
	case reflect.DeepEqual(is.Elem().Interface(), was.Elem().Interface()):
		s.share.reported(nil)
		return true
	}
	s.share.empty()
	s.share.reported(&Written{In: in, Is: is.Elem(), Was: was.Elem()})
	return false
}
