// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
)

// checkedPart: of so many parts that are found one is decoded anew and compared.
const checkedPart = 1024

// Written is a part that somebody has written to, although objects share it.
type Written struct {
	In      string        // the names that lead to it, as far as they are told; none of them is data
	Is, Was reflect.Value // of one type
}

// Report has each check of a part reported: nil, if it is what its bytes mean. It is called before
// the first object is decoded, to from any goroutine that decodes.
func (s *Sharing) Report(to func(*Written)) *Sharing {
	s.report = to
	return s
}

// firstCheck is after how many parts a reader checks one; by chance, so that those are checked that
// always come first, and those behind them. The chance is the same for each part, since readers are
// given up and made at any time.
func firstCheck() int { return 1 + int(rand.ExpFloat64()*checkedPart) }

// due reports whether the part that was found now is to be checked.
func (d *reader) due() bool {
	if d.toCheck--; d.toCheck > 0 && !d.checks {
		return false
	}
	d.toCheck = firstCheck()
	return true
}

// checked returns a part that was found if it is what its bytes mean, by what reads them. Else it
// empties the table, since what was written to may be in any number of its parts, in larger ones
// than this and in smaller ones, and returns what the part should be. It only reads the part:
// nobody may write to it at any time.
func (d *reader) checked(e *part, t reflect.Type, in string, read func(*reader, place) bool) *part {
	anew := newReader(e.raw, Options{})
	anew.depth = d.depth
	is, was := reflect.New(t), reflect.New(t)
	if anew.release(read(anew, placeOf(was))) != nil {
		return e
	}
	e.value.put(t, placeOf(is))
	if reflect.DeepEqual(is.Elem().Interface(), was.Elem().Interface()) {
		d.share.reported(nil)
		return e
	}
	d.parts.empty()
	d.share.reported(&Written{In: in, Is: is.Elem(), Was: was.Elem()})
	return &part{of: e.of, hash: e.hash, raw: e.raw, value: wholeOf(t, placeOf(was)), made: e.made, deep: e.deep}
}

func (s *Sharing) reported(w *Written) {
	if s.report != nil {
		s.report(w)
	}
}

// manyNames are told of those that lead to a part: further in they may be data.
const manyNames = 2

// names returns the names that lead to the place up to which an object was read.
func (d *reader) names() string {
	var names [manyNames + 1]string
	depth, data := 0, d.data[:d.pos]
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := min(textEnd(data, i+1), len(data))
			if 0 < depth && depth <= manyNames && isName(data[min(end+1, len(data)):]) {
				names[depth] = string(data[i+1 : end])
			}
			i = end
		case '{', '[':
			if depth++; depth <= manyNames {
				names[depth] = ""
			}
		case '}', ']':
			depth--
		}
	}
	return plainPath(names[1 : 1+min(max(depth, 0), manyNames)])
}

// isName reports whether the text is a name that comes before rest.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func plainPath(names []string) string {
	for i, name := range names {
		if name == "" || strings.Trim(name, plainNames) != "" {
			return strings.Join(names[:i], ".")
		}
	}
	return strings.Join(names, ".")
}
