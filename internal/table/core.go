// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"sync/atomic"
)

// record is one object under its key. The key of a cell never changes while
// the cell has versions, so it may be compared before the version is published.
type record struct {
	key string
	obj any
}

// grave is the object of a deleted record.
type grave struct{}

var buried any = (*grave)(nil)

func (r *record) dead() bool {
	_, dead := r.obj.(*grave)
	return dead
}

// meta is what the table knows about itself at a generation.
type meta struct {
	rv string
	n  int
}

// core is one whole body of the table, from one Replace to the next.
//
// published is the newest generation that readers may see; storing it is the
// only act that makes a batch visible. Everything newer is the writer's draft.
type core struct {
	published atomic.Uint64
	// Readers load published and what follows for each call, the writer stores
	// only published for each batch: keep them on separate cache lines.
	_ [56]byte

	seed    maphash.Seed
	keys    hashtab[version[record]]
	records slab[cell[record]]
	indexes atomic.Pointer[[]*index]
	_       [56]byte
	meta    cell[meta]

	// What follows is the writer's.

	n     int
	log   changes
	limbo limbo
}

// changes lists the cells that the current batch has given a new version.
//
// While a body or an index is built aside no cell has an older version; only
// leaves that lost a member are then of interest.
type changes struct {
	building bool

	records []uint32
	leaves  []leafRef
}

type leafRef struct {
	post *posting
	i    uint32
}

func (l *changes) record(id uint32) {
	if !l.building {
		l.records = append(l.records, id)
	}
}

func (l *changes) leaf(p *posting, i uint32, shrunk bool) {
	if shrunk || !l.building {
		l.leaves = append(l.leaves, leafRef{p, i})
	}
}

// keptLog is the room for changes that survives a batch: 2^10 cells, 20 KiB.
const keptLog = 1 << 10

func (l *changes) reset() {
	if cap(l.records) > keptLog || cap(l.leaves) > keptLog {
		*l = changes{}
		return
	}
	clear(l.leaves)
	l.records, l.leaves = l.records[:0], l.leaves[:0]
}

// newCore makes a body for about n objects, whose first batch is gen.
func newCore(seed maphash.Seed, indexers []*indexer, gen uint64, n int) *core {
	c := &core{seed: seed}
	c.keys.reserve(n)
	c.records.reserve(n)
	ixs := make([]*index, len(indexers))
	for i, x := range indexers {
		ixs[i] = newIndex(x, seed, gen, n, &c.log)
	}
	c.indexes.Store(&ixs)
	return c
}

// find returns the newest version under a key, or nil. Any goroutine. It may
// be a draft, and it may be a deletion. It is a hashtab search written out:
// this is what Get spends its time on.
func (c *core) find(key string) *version[record] {
	hash := maphash.String(c.seed, key)
	groups := *c.keys.groups.Load()
	i := home(hash, len(groups))
	for range groups {
		g := &groups[i]
		ctrl := g.ctrl.Load()
		for m := match(ctrl, hash); m != 0; m &= m - 1 {
			if v := g.refs[first(m)].Load(); v != nil && v.val.key == key {
				return v
			}
		}
		if ctrl < overflowOne {
			break
		}
		if i++; i == len(groups) {
			i = 0
		}
	}
	return nil
}

// findBytes is find for a key in a buffer.
func (c *core) findBytes(key []byte) *version[record] {
	for s := c.keys.search(maphash.Bytes(c.seed, key)); ; {
		v, _ := s.next()
		if v == nil || v.val.key == string(key) {
			return v
		}
	}
}

func (c *core) hashOf(v *version[record]) uint64 { return maphash.String(c.seed, v.val.key) }

// locate is find for the writer: it returns the slot.
func (c *core) locate(hash uint64, key string) (slot int, ok bool) {
	for s := c.keys.search(hash); ; {
		v, slot := s.next()
		if v == nil || v.val.key == key {
			return slot, v != nil
		}
	}
}

// put stores an object in the draft gen and returns its id and what it
// replaces. hash is that of the key.
func (c *core) put(gen uint64, key string, hash uint64, obj any) (id uint32, old any, had bool) {
	slot, ok := c.locate(hash, key)
	if !ok {
		id = c.records.take()
		v := &version[record]{gen: gen, val: record{key: key, obj: obj}}
		c.records.at(id).head.Store(v)
		c.keys.insert(hash, v, id, c.hashOf)
		c.log.record(id)
		c.n++
		return id, nil, false
	}
	id, old, had = c.set(gen, slot, obj)
	if !had {
		c.n++
	}
	return id, old, had
}

// drop deletes a key in the draft gen.
func (c *core) drop(gen uint64, key string) (id uint32, old any, had bool) {
	slot, ok := c.locate(maphash.String(c.seed, key), key)
	if !ok || c.records.at(c.keys.ids[slot]).head.Load().val.dead() {
		return 0, nil, false
	}
	c.n--
	return c.set(gen, slot, buried)
}

// set gives a record its next object, and returns the one it had. The hash
// table and the slab both point to the newest version: Get comes by the one,
// List and ByIndex by the other.
func (c *core) set(gen uint64, slot int, obj any) (id uint32, old any, had bool) {
	id = c.keys.ids[slot]
	place := c.records.at(id)
	if r := &place.head.Load().val; !r.dead() {
		old, had = r.obj, true
	}
	v, fresh := place.edit(gen)
	if fresh {
		c.keys.set(slot, v)
		c.log.record(id)
	}
	v.val.obj = obj
	return id, old, had
}

// publish makes the draft gen the state that everybody reads.
func (c *core) publish(gen uint64, rv string) {
	c.describe(gen, rv)
	c.published.Store(gen)
	// The older meta served those who read published before the store. Whoever
	// needs it for longer has a copy.
	c.meta.head.Load().prev.Store(nil)
}

// describe completes the draft gen with its meta.
func (c *core) describe(gen uint64, rv string) {
	if old := c.meta.head.Load(); old == nil || old.val.rv != rv || old.val.n != c.n {
		v, _ := c.meta.edit(gen)
		v.val = meta{rv: rv, n: c.n}
	}
}

// release forgets a record whose deletion everybody has seen.
func (c *core) release(id uint32) {
	place := c.records.at(id)
	v := place.head.Load()
	if v == nil || !v.val.dead() || v.prev.Load() != nil {
		return
	}
	hash := c.hashOf(v)
	slot, _ := c.locate(hash, v.val.key)
	c.keys.remove(hash, slot)
	place.head.Store(nil)
	c.records.give(id)
}
