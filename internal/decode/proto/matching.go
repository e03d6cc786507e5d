// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import "github.com/kinformer/cache/internal/decode/mem"

// farthest is how many elements of the former list are looked at for the next one.
const farthest = 16

// matching goes through a former list along with the new one.
type matching struct {
	former mem.Place // its first element
	words  []uint64  // of its elements
	next   int       // the first one behind the last that has come again
	missed int       // how many new ones have come since then
}

// find returns the index of the former element with that word, or -1; left is how many new elements
// there are from this one on. Elements that were changed, or are new or gone at one place, do not keep
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
