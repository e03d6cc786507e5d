// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
)

// Draft is the next body of a table in the making: filled block by block while
// the table goes on, then installed at once, or dropped.
//
//	d := t.Draft(n)
//	d.Look(&block); d.Put(&block)      for each block of objects
//	d.Remove(key)                      what was put and is gone again
//	t.Install(d, resourceVersion)
//
// Each object gets a place, and keeps it when it is put again under its key.
// Index functions run in Put, in the caller's goroutine, unless others run just
// then or the draft was told to postpone them: then they run in Complete. One
// goroutine uses a draft at a time.
type Draft struct {
	table *Table
	// base and seen are the body and the generation that the draft began with.
	base *core
	seen uint64

	next *builder
	// former has what the table held under the key of each place; it is short
	// while the table holds none of them.
	former []any
}

// Block is a run of objects on their way into a draft. Its memory is the
// caller's, to be used again.
type Block struct {
	N       int
	Objects [BlockLen]any
	// Text are the keys as bytes. Look makes strings of them. Where Text is nil
	// the key is in Keys already.
	Text [BlockLen][]byte
	Keys [BlockLen]string
	// Former is filled in by Look: what the table holds under the key, or nil.
	Former [BlockLen]any
	// Places is filled in by Put.
	Places [BlockLen]uint32

	hashes   [BlockLen]uint64
	likely   [BlockLen]*record
	glimpses [BlockLen]glimpse
	warm     uint64 // keeps the compiler from leaving out loads that only warm caches
}

// Cut leaves the first n objects in the block.
func (b *Block) Cut(n int) {
	clear(b.Objects[n:b.N])
	clear(b.Text[n:b.N])
	clear(b.Keys[n:b.N])
	clear(b.Former[n:b.N])
	b.N = n
}

// Reset lets go of what the block holds.
func (b *Block) Reset() { b.Cut(0) }

// Draft begins an empty body for about n objects, with the indexers that the
// table has.
func (t *Table) Draft(n int) *Draft {
	base := t.core.Load()
	seen := base.published.Load()
	d := &Draft{table: t, base: base, seen: seen, next: newBuilder(base, seen+1, n, &t.functions)}
	if size := base.size(); size > 0 {
		d.former = make([]any, 0, max(n, size))
	}
	return d
}

// Len is how many objects the draft has.
func (d *Draft) Len() int { return d.next.core.n }

// Look completes Keys, with strings of the table's own where it has them, and
// finds what it holds under them.
func (d *Draft) Look(b *Block) {
	if d.base.size() > 0 {
		d.hash(b)
		d.fetch(b)
		for i := range b.N {
			if key, former := d.base.seek(d.seen, b.hashes[i], b.Text[i], b.Keys[i]); former != nil {
				b.Keys[i], b.Former[i] = key, former
			}
		}
	}
	b.spell()
}

// fetch brings into the caches what seek is going to look at.
func (d *Draft) fetch(b *Block) {
	for _, hash := range b.hashes[:b.N] {
		g := d.base.keys.at(hash)
		g.fetch()
		b.warm += g.Load()
	}
	for i, hash := range b.hashes[:b.N] {
		g := d.base.keys.at(hash)
		b.likely[i] = nil
		if m := match(g.Load(), hash); m != 0 {
			_, b.likely[i] = g.slots[first(m)].load()
		}
	}
	for i, r := range b.likely[:b.N] {
		if r != nil {
			b.glimpses[i] = r.look()
		}
	}
	for i, r := range b.likely[:b.N] {
		if g := &b.glimpses[i]; r != nil && g.gen <= d.seen && !g.none() {
			b.warm += uint64(touch(g.key()))
		}
	}
	clear(b.likely[:b.N])
	clear(b.glimpses[:b.N])
}

func (d *Draft) hash(b *Block) {
	for i := range b.N {
		if b.Text[i] != nil {
			b.hashes[i] = maphash.Bytes(d.base.seed, b.Text[i])
		} else {
			b.hashes[i] = hashString(d.base.seed, b.Keys[i])
		}
	}
}

// spell makes strings of the keys that are bytes only.
func (b *Block) spell() {
	for i := range b.N {
		if b.Text[i] != nil && b.Keys[i] == "" {
			b.Keys[i] = string(b.Text[i])
		}
	}
}

// seek returns what a key, given in either form, has held since before a
// published generation, and the table's own string for it. What has changed
// later is left out.
func (c *core) seek(seen, hash uint64, text []byte, key string) (own string, obj any) {
	for s := c.keys.search(hash); ; {
		r := s.next()
		if r == nil {
			return "", nil
		}
		g := r.look()
		if g.gen > seen || g.none() {
			continue
		}
		if own := g.key(); text != nil && own == string(text) || text == nil && own == key {
			return own, g.object()
		}
	}
}

// Postpone has Put run no more index functions: they would take too long for the
// goroutine that calls it.
func (d *Draft) Postpone() { d.next.postpones = true }

// Complete runs the index functions that Put has not, and returns for how many
// objects. Nothing is put any more after it.
func (d *Draft) Complete() (n int) { return d.next.complete() }

// Put stores the objects of a block under their keys. It tells whether it has
// run their index functions.
func (d *Draft) Put(b *Block) (filed bool) {
	d.makeRoom(b.N)
	next := d.next.block
	copy(next.keys[:b.N], b.Keys[:b.N])
	copy(next.objects[:b.N], b.Objects[:b.N])
	d.next.n = b.N
	filed = d.next.flush()
	copy(b.Places[:b.N], next.ids[:b.N])
	for i, place := range b.Places[:b.N] {
		d.note(place, b.Former[i])
	}
	return filed
}

// makeRoom doubles the hash table before it would grow by itself: that would
// look for each key in memory, this walks over them in the order in which they
// were allocated.
func (d *Draft) makeRoom(n int) {
	c := d.next.core
	if !c.keys.crowded(n) {
		return
	}
	var larger keytab
	larger.reserve(2 * (c.keys.live + n))
	groups := *larger.groups.Load()
	c.live(func(_ uint32, r *record) { placeKey(groups, c.hashOf(r), r.keyData, r) })
	c.keys.groups.Store(&groups)
}

func (d *Draft) note(place uint32, former any) {
	for former != nil && int(place) >= len(d.former) {
		d.former = append(d.former, nil)
	}
	if int(place) < len(d.former) {
		d.former[place] = former
	}
}

// Remove takes the object under a key out again, and returns its place.
func (d *Draft) Remove(key string) (place uint32, ok bool) {
	c := d.next.core
	place, old := c.drop(d.next.gen, key, c.hash(key))
	if old.none() {
		return 0, false
	}
	c.file(d.next.gen, place, d.next.ixs, nil)
	d.next.postponed.Put(place, false)
	c.release(c.records.at(place))
	d.note(place, nil)
	return place, true
}

// Has tells whether the draft has an object under a key.
func (d *Draft) Has(key string) bool {
	return d.next.core.locate(d.next.core.hash(key), key) != nil
}

// Current tells whether the table is as it was when the draft began, so that
// what Look has found still holds.
func (d *Draft) Current() bool {
	c := d.table.core.Load()
	return c == d.base && c.published.Load() == d.seen
}

// Renew looks up again what the table holds, now.
func (d *Draft) Renew() {
	clear(d.former)
	d.former = d.former[:0]
	v, p := d.table.pin()
	defer d.table.leave(p)
	d.base, d.seen = v.core, v.gen
	d.records(func(place uint32, r *record) bool {
		former, _ := v.get(r.key())
		d.note(place, former)
		return true
	})
}

// Item is an object of a draft, and what the table held under its key, or nil.
type Item struct {
	Key            string
	Object, Former any
}

// All calls yield for each object by rising places, until it returns false.
func (d *Draft) All(yield func(place uint32, item Item) bool) {
	d.records(func(place uint32, r *record) bool {
		item := Item{Key: r.key(), Object: r.object()}
		if int(place) < len(d.former) {
			item.Former = d.former[place]
		}
		return yield(place, item)
	})
}

// Objects is All without places and former objects.
func (d *Draft) Objects(yield func(key string, obj any) bool) {
	d.records(func(_ uint32, r *record) bool { return yield(r.key(), r.object()) })
}

func (d *Draft) records(yield func(uint32, *record) bool) {
	for i, chunk := range d.next.core.records.chunks() {
		for j := range chunk {
			if r := &chunk[j]; !r.none() && !yield(uint32(i<<slabBits|j), r) {
				return
			}
		}
	}
}

// Missing calls yield for each object of the table whose key the draft does
// not have.
func (d *Draft) Missing(yield func(key string, obj any) bool) {
	matched := 0
	for _, former := range d.former {
		if former != nil {
			matched++
		}
	}
	if matched == d.base.size() {
		return
	}
	v, p := d.table.pin()
	defer d.table.leave(p)
	v.records(func(key string, obj any) bool { return d.Has(key) || yield(key, obj) })
}

// Install makes the draft, completed, the content of the table, at this resource
// version, as one state. An index that was added meanwhile is built first. The
// draft must not be used any more.
func (t *Table) Install(d *Draft, rv string) {
	d.Complete()
	t.report(t.install(d, rv))
}

func (t *Table) install(d *Draft, rv string) failures {
	t.w.Lock()
	defer t.w.Unlock()
	old := t.core.Load()
	b, gen := d.next, old.published.Load()+1
	var added []*indexer
	for _, ix := range (*old.indexes.Load())[len(b.ixs):] {
		added = append(added, ix.indexer)
	}
	t.widen(b.core, gen, added, &b.failed)
	b.core.log.building = false
	b.core.publish(gen, rv)
	t.swap(b.core)
	t.settle(0)
	return b.failed
}
