// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/mem"

// farthest is the number of elements of the former list that find examines.
const farthest = 16

// matching walks the former list in step with the new one:
//
//	former   A  B  C  D  E        next: after the last element found
//	new      A  X  C  D           X is new: missed is 1, so C is first looked for at next+1
type matching struct {
	former mem.Place // the first element of the former list
	words  []uint64  // the word of each element of the former list
	next   int       // the index after the last element found
	missed int       // the number of new elements since then that were not found
}

// find returns the index of the former element with the given word, or -1. left is the number of
// new elements from this one on. Elements that were changed, added or removed at one place do not
// prevent later ones from being found. Removals at other places do so only if there are farthest or more.
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
