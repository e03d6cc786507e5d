// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "hash/maphash"

// share is which changes are for one of the consumers of a handler.
type share struct {
	id       uint64 // of the consumer, among all of the processor so far; set before others see it
	number   uint32 // of the consumer, among those of the handler
	parallel uint32 // how many consumers the handler has
}

// all reports whether the keys of all objects belong to the share.
func (s *share) all() bool { return s.parallel == 1 }

// wants reports whether a change, or for a bulk record some of it, belongs to the share.
func (s *share) wants(c *change) bool {
	if c.resync && c.round.excludes(s.id) {
		return false
	}
	return s.all() || c.many != nil || maphash.String(shareSeed, c.key)%uint64(s.parallel) == uint64(s.number)
}

// wantsAny reports whether any of the changes belongs to the share. It may be wrong to say yes.
func (s *share) wantsAny(changes []change) bool {
	for i := range changes {
		if changes[i].many != nil && !changes[i].resync || s.wants(&changes[i]) {
			return true
		}
	}
	return false
}

var shareSeed = maphash.MakeSeed()
