// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

// Draft is the next body of a table under construction. It is filled block by block while the table
// remains in use, and then installed as a whole or dropped.
//
//	d := t.Draft(n)
//	d.Look(&block); d.Put(&block)      for each block of objects
//	d.Remove(key)                      for an object that was put and deleted since
//	t.Install(d, resourceVersion)
//
// Each object has a place, and keeps it when its key is put again. Index functions run in Put, in
// the caller's goroutine, unless they are running elsewhere or Postpone was called: then they run
// in Complete. A draft must be used by one goroutine at a time.
type Draft struct {
	table *Table
	// base and seen are the table's body and generation when the draft began.
	base *core
	seen uint64

	next *builder
	// former holds, by place, the object that the table holds under the same key. It is short while
	// the table holds none of them.
	former []any
}

// Block is a run of objects to be put in a draft. The caller owns its memory and may reuse it.
type Block struct {
	N       int
	Objects [BlockLen]any
	// Text holds the keys as bytes, from which Look makes strings. If an element is nil, its key is
	// in Keys already.
	Text [BlockLen][]byte
	Keys [BlockLen]string
	// Former is set by Look: the objects that the table holds under the keys, or nil.
	Former [BlockLen]any
	// Places is set by Put.
	Places [BlockLen]uint32

	hashes   [BlockLen]uint64
	likely   [BlockLen]*record
	glimpses [BlockLen]glimpse
	warm     uint64 // keeps the compiler from removing loads that only warm caches
}

// Cut keeps the first n objects of the block and drops the others.
func (b *Block) Cut(n int) {
	clear(b.Objects[n:b.N])
	clear(b.Text[n:b.N])
	clear(b.Keys[n:b.N])
	clear(b.Former[n:b.N])
	b.N = n
}

// Reset empties the block.
func (b *Block) Reset() { b.Cut(0) }

// Draft returns an empty draft for about n objects, with the table's indexers.
func (t *Table) Draft(n int) *Draft {
	base := t.core.Load()
	seen := base.published.Load()
	d := &Draft{table: t, base: base, seen: seen, next: newBuilder(base, seen+1, n, &t.functions)}
	if size := base.meta().n; size > 0 {
		d.former = make([]any, 0, max(n, size))
	}
	return d
}

// Len returns the number of objects in the draft.
func (d *Draft) Len() int { return d.next.core.n }

// Look sets Keys, to the table's own strings for keys that the table has, and Former.
func (d *Draft) Look(b *Block) {
	if d.base.meta().n > 0 {
		d.hash(b)
		d.fetch(b)
		for i := range b.N {
			key, w := d.base.seek(d.seen, b.hashes[i], b.key(i))
			if former := w.object(); former != nil {
				b.Keys[i], b.Former[i] = key, former
			}
		}
	}
	b.spell()
}

// fetch loads the memory that seek is going to read into the caches.
func (d *Draft) fetch(b *Block) {
	for _, hash := range b.hashes[:b.N] {
		g := d.base.keys.at(hash)
		fetchHints(g)
		b.warm += g.Load()
	}
	for i, hash := range b.hashes[:b.N] {
		g := d.base.keys.at(hash)
		b.likely[i] = nil
		if m := match(g.Load(), hash); m != 0 {
			b.likely[i] = g.refs[first(m)].Load()
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
		b.hashes[i] = d.base.hash(b.key(i))
	}
}

// key returns key i in the caller's memory.
func (b *Block) key(i int) string {
	if b.Text[i] != nil {
		return lent(b.Text[i])
	}
	return b.Keys[i]
}

// spell makes strings of the keys that are given as bytes only.
func (b *Block) spell() {
	for i := range b.N {
		if b.Text[i] != nil && b.Keys[i] == "" {
			b.Keys[i] = string(b.Text[i])
		}
	}
}

// Postpone stops Put from calling index functions, if they would take too long for the caller's
// goroutine.
func (d *Draft) Postpone() { d.next.postpones = true }

// Complete runs the index functions that Put has not run, and returns the number of objects. No
// object may be put after it.
func (d *Draft) Complete() (n int) { return d.next.complete() }

// Put stores the objects of a block under their keys. It reports whether it has run their index
// functions.
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

// makeRoom doubles the hash table before it would grow by itself. Growing looks up each key in
// memory; makeRoom walks the records in the order in which they were allocated.
func (d *Draft) makeRoom(n int) {
	c := d.next.core
	if !c.keys.crowded(n) {
		return
	}
	groups := make([]keyGroup, groupsFor(2*(c.keys.live+n)))
	c.live(func(_ uint32, r *record) {
		g, slot := place(groups, c.hashOf(r), r)
		g.hints[slot] = r.keyData
	})
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

// Remove deletes the object under a key from the draft, and returns its place.
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

// Has reports whether the draft has an object under a key.
func (d *Draft) Has(key string) bool {
	return d.next.core.locate(d.next.core.hash(key), key) != nil
}

// Current reports whether the table is unchanged since the draft began, so that the results of Look
// still hold.
func (d *Draft) Current() bool {
	c := d.table.core.Load()
	return c == d.base && c.published.Load() == d.seen
}

// Renew updates the former objects to the table's current content.
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

// Item is an object of a draft. Former is the object that the table held under its key, or nil.
type Item struct {
	Key            string
	Object, Former any
}

// All calls yield for each object in rising order of places, until yield returns false.
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

// Missing calls yield for each object of the table whose key the draft lacks.
func (d *Draft) Missing(yield func(key string, obj any) bool) {
	matched := 0
	for _, former := range d.former {
		if former != nil {
			matched++
		}
	}
	if matched == d.base.meta().n {
		return
	}
	v, p := d.table.pin()
	defer d.table.leave(p)
	v.records(func(key string, obj any) bool { return d.Has(key) || yield(key, obj) })
}

// Install completes the draft and makes it the content of the table, at resource version rv, as one
// state. Indexes that were added to the table meanwhile are built first. The draft must not be used
// afterwards.
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
