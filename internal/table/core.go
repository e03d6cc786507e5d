// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"unsafe"
)

// newCore returns a body for about n objects. gen is its first generation.
func newCore(seed maphash.Seed, indexers []*indexer, gen uint64, n int) *core {
	c := &core{seed: seed, rows: newRows(len(indexers), n)}
	c.keys.reserve(n)
	c.records.reserve(n)
	ixs := make([]*index, len(indexers))
	for i, x := range indexers {
		ixs[i] = newIndex(x, seed, gen, c.rows, i, &c.log)
	}
	c.indexes.Store(&ixs)
	return c
}

// seek returns the object under a key at gen, and the table's own string of the key. It needs no
// pin, and skips a record that has changed since gen.
func (c *core) seek(gen, hash uint64, key string) (own string, w words) {
	for s := c.keys.search(hash); ; {
		r := s.next()
		if r == nil {
			return "", words{}
		}
		if g := r.look(); g.gen <= gen && !g.none() && g.key() == key {
			return g.key(), g.words
		}
	}
}

func (c *core) hash(key string) uint64 { return hashString(c.seed, key) }

func (c *core) hashOf(r *record) uint64 { return c.hash(r.key()) }

// locate returns the record of a key, or nil. The key of the record may be deleted. Writer only.
//
// Like Get it tries the first candidate at once, so that the processor loads the record and the
// bytes of the key in parallel. The bytes in the slot and the length in the record belong together,
// because only the writer changes them.
func (c *core) locate(hash uint64, key string) *record {
	g := c.keys.at(hash)
	fetchHints(g)
	if m := match(g.Load(), hash); m != 0 {
		data, r := loadSlot(g, first(m))
		if int(r.keyLen) == len(key) && unsafe.String((*byte)(data), len(key)) == key {
			return r
		}
	}
	for s := c.keys.search(hash); ; {
		if r := s.next(); r == nil || r.key() == key {
			return r
		}
	}
}

// put stores an object in the draft gen, and returns its id and the object that it replaces. hash
// is the hash of the key.
func (c *core) put(gen uint64, key string, hash uint64, w words) (id uint32, old words) {
	if r := c.locate(hash, key); r != nil {
		return r.id, c.set(gen, r, w)
	}
	return c.begin(gen, key, hash, w), words{}
}

// begin stores an object under a key that the body lacks.
func (c *core) begin(gen uint64, key string, hash uint64, w words) (id uint32) {
	id = c.records.take()
	r := c.records.at(id)
	r.start(gen, id, key, w)
	g, slot := c.keys.insert(hash, r, c.hashOf)
	setHint(g, slot, r.keyData)
	c.log.record(r)
	c.n++
	return id
}

// set stores an object, or deletes it if w is none, and returns the previous one.
func (c *core) set(gen uint64, r *record, w words) (old words) {
	if old = r.words; old.none() {
		c.n++
	} else if w.none() {
		c.n--
	}
	r.set(gen, w, &c.log)
	return old
}

// drop deletes a key in the draft gen. hash is the hash of the key.
func (c *core) drop(gen uint64, key string, hash uint64) (id uint32, old words) {
	r := c.locate(hash, key)
	if r == nil || r.none() {
		return 0, words{}
	}
	return r.id, c.set(gen, r, words{})
}

// publish makes the draft gen visible to readers.
func (c *core) publish(gen uint64, rv string) {
	c.describe(gen, rv)
	c.published.Store(gen)
}

// describe stores the meta of the draft gen.
func (c *core) describe(gen uint64, rv string) { c.metas.set(gen, meta{rv: rv, n: c.n}) }

// meta returns the meta of the newest published generation.
func (c *core) meta() meta { return c.metas.newest(&c.published) }

// release removes a deleted record from the hash table and frees its id, unless older versions of
// it are kept.
func (c *core) release(r *record) {
	if r.idle() || !r.none() || r.undo.Load() != nil {
		return
	}
	// The slot keeps its pointer to the record, because readers may be about to follow it.
	g, slot := c.keys.remove(c.hashOf(r), r)
	setHint(g, slot, nil)
	r.end()
	c.records.give(r.id)
}
