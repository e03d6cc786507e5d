// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/mem"

const (
	// fewestElements have words of their own. A list of one is its element.
	fewestElements = 2
	// farthest is how many elements of the former list are looked at for the next one.
	farthest = 16
)

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

// matching goes through a former list along with the new one.
type matching struct {
	former mem.Place // its first element
	words  []uint64  // of its elements
	next   int       // the first one behind the last that has come again
	missed int       // how many new ones have come since then
}

// find returns the index of the former element with that word, or -1; left is how many new elements
// there are from this one on. Elements that were changed, or are new or gone at one mem.Place, do not keep
// those behind them from being found, nor do a few that are gone elsewhere.
func (c *matching) find(word uint64, left int) int {
	if i := c.next + c.missed; i < len(c.words) && c.words[i] == word {
		return c.found(i)
	}
	if i := len(c.words) - left; i >= c.next && c.words[i] == word {
		return c.found(i)
	}
	for i := c.next; i < min(c.next+farthest, len(c.words)); i++ {
		if c.words[i] == word {
			return c.found(i)
		}
	}
	c.missed++
	return -1
}

func (c *matching) found(i int) int {
	c.next, c.missed = i+1, 0
	return i
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
