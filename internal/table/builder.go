// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync"
)

// builder fills a new body that is not yet published.
//
// Nearly all of its time is spent waiting for memory: keys, objects, hash groups, postings. So it
// works in blocks, and each pass over a block does one short step for all of its objects, so that
// their cache misses overlap.
//
//	pass   1       2              3              4 and more, for each index
//	       hash    load groups    store records  call function, load values and postings, file
//
// Measured with 10^5 pods and three indexes: see docs/benchmarks, row size/100000-3/replace-hot.
type builder struct {
	core   *core
	gen    uint64
	ixs    []*index
	failed failures

	// functions is the lock of the index functions; nil if none of them is user code.
	functions *sync.Mutex
	// waits means that the functions are called at once, even if their lock is held by another
	// goroutine. Otherwise they are postponed in that case, or if postpones is set.
	waits, postpones bool
	postponed        Places

	n     int
	block *builderBlock
	// touched keeps the compiler from removing loads that only warm caches.
	touched uint64
}

// builderBlock holds the objects that are not yet stored, and the memory of the passes over them.
// Unused elements are zero.
type builderBlock struct {
	keys    [BlockLen]string
	objects [BlockLen]any
	ids     [BlockLen]uint32
	values  [BlockLen]indexValues
	singles [BlockLen]string
	hashes  [BlockLen]uint64
	posts   [BlockLen]*posting
}

// builderBlocks holds empty blocks. A block takes half of the memory of a body of ten objects.
var builderBlocks = sync.Pool{New: func() any { return new(builderBlock) }}

// newBuilder returns a builder of a body with the indexers of old.
func newBuilder(old *core, gen uint64, n int, functions *sync.Mutex) *builder {
	var xs []*indexer
	for _, ix := range *old.indexes.Load() {
		xs = append(xs, ix.indexer)
	}
	c := newCore(old.seed, xs, gen, n)
	c.log.building = true
	b := &builder{core: c, gen: gen, ixs: *c.indexes.Load(), block: builderBlocks.Get().(*builderBlock)}
	if callsUser(b.ixs) {
		b.functions = functions
	}
	return b
}

// add stores an object. It replaces an earlier one with the same key.
func (b *builder) add(key string, obj any) {
	b.block.keys[b.n], b.block.objects[b.n] = key, obj
	if b.n++; b.n == BlockLen {
		b.flush()
	}
}

// flush stores the objects of the block, in order. filed reports whether they were also filed in
// the indexes; otherwise their functions are postponed.
func (b *builder) flush() (filed bool) {
	blk, n := b.block, b.n
	for i, key := range blk.keys[:n] {
		blk.hashes[i] = hashString(b.core.seed, key)
	}
	for _, hash := range blk.hashes[:n] {
		b.touched += b.core.keys.at(hash).Load()
	}
	for i, key := range blk.keys[:n] {
		blk.ids[i], _ = b.core.put(b.gen, key, blk.hashes[i], wordsOf(blk.objects[i]))
	}
	if filed = b.claim(); filed {
		b.fileAll()
	} else {
		b.postpone()
	}
	b.reset()
	return filed
}

// claim takes the lock of the functions. It reports false if the functions are to be postponed.
func (b *builder) claim() bool {
	switch {
	case b.functions == nil:
	case b.waits:
		b.functions.Lock()
	case b.postpones || !b.functions.TryLock():
		return false
	}
	return true
}

// fileAll files the objects of the block in all indexes, and releases the lock of the functions.
func (b *builder) fileAll() {
	if b.functions != nil {
		defer b.functions.Unlock()
	}
	for _, ix := range b.ixs {
		b.file(ix)
	}
	if len(b.postponed) > 0 {
		for _, id := range b.block.ids[:b.n] {
			b.postponed.Put(id, false)
		}
	}
}

// postpone leaves the filing of the block's objects, which are stored, to complete.
func (b *builder) postpone() {
	for _, id := range b.block.ids[:b.n] {
		b.postponed.Put(id, true)
	}
}

// complete files the postponed objects, and returns their number. It waits for the lock of the
// functions.
func (b *builder) complete() (n int) {
	b.waits = true
	left := b.postponed
	b.postponed = nil
	for id := range left.all {
		b.refile(id, b.core.records.at(id))
		n++
	}
	b.refileRest()
	return n
}

// refile adds a stored object to the block, and files the block when it is full.
func (b *builder) refile(id uint32, r *record) {
	b.block.keys[b.n], b.block.objects[b.n], b.block.ids[b.n] = r.key(), r.object(), id
	if b.n++; b.n == BlockLen {
		b.refileRest()
	}
}

// refileRest files the objects that refile has not filed yet.
func (b *builder) refileRest() {
	b.claim()
	b.fileAll()
	b.reset()
}

// reset clears the block.
func (b *builder) reset() {
	blk, n := b.block, b.n
	clear(blk.keys[:n])
	clear(blk.objects[:n])
	clear(blk.values[:n])
	clear(blk.singles[:n])
	clear(blk.posts[:n])
	b.n = 0
}

// file files the objects of the block in one index.
func (b *builder) file(ix *index) {
	blk, n := b.block, b.n
	clear(blk.values[:n])
	for at := 0; at < n; {
		at = ix.computeAll(at, blk.keys[:n], blk.objects[:n], blk.values[:n], blk.singles[:n], &b.failed)
	}
	for _, values := range blk.values[:n] {
		if len(values) > 0 {
			b.touched += uint64(touch(values[0]))
		}
	}
	for i, values := range blk.values[:n] {
		if len(values) > 0 {
			blk.hashes[i] = ix.hash(values[0])
		}
	}
	for i, hash := range blk.hashes[:n] {
		blk.posts[i] = ix.guess(hash)
	}
	for _, p := range blk.posts[:n] {
		b.touched += p.warm()
	}
	clear(blk.posts[:n])
	for i, id := range blk.ids[:n] {
		ix.assignNew(b.gen, id, blk.values[i], blk.hashes[i])
	}
}

// guess returns a posting whose value probably has this hash, or nil.
func (ix *index) guess(hash uint64) *posting {
	g := ix.values.at(hash)
	if m := match(g.Load(), hash); m != 0 {
		return g.refs[first(m)].Load()
	}
	return nil
}

// warm loads the memory that add reads first. The result has no meaning.
func (p *posting) warm() uint64 {
	if p == nil {
		return 0
	}
	sum := uint64(p.n) + uint64(touch(p.value))
	if l := p.leaf(uint32(len(p.rest()))); l != nil {
		sum += uint64(l.ids()[l.n%l.room])
	}
	return sum
}

// done completes the body and publishes gen in it.
func (b *builder) done(rv string) *core {
	b.flush()
	builderBlocks.Put(b.block)
	b.block = nil
	b.core.log.building = false
	b.core.publish(b.gen, rv)
	return b.core
}

// A body is rebuilt when more than sparseMin ids were ever used and less than a quarter of them are
// in use. So the memory of deleted objects stays bounded by that of the others, at the cost of a
// quarter of a rebuilt object for each deletion.
const (
	sparseMin = 4 * slabLen
	sparse    = 4
)

func (c *core) sparse() bool {
	return c.records.next > sparseMin && c.records.inUse() < int(c.records.next/sparse)
}

// compact copies the newest state into a body of the right size. It takes the index values from the
// postings, and calls no index function.
func compact(old *core) *core {
	b := newBuilder(old, old.published.Load()+1, old.n, nil)
	from := *old.indexes.Load()
	old.live(func(id uint32, r *record) {
		to, _ := b.core.put(b.gen, r.key(), old.hash(r.key()), r.words)
		for i, ix := range b.ixs {
			ix.assign(b.gen, to, ix.ref(to), from[i].valuesOf(id))
		}
	})
	return b.done(old.meta().rv)
}

// valuesOf returns the values under which an object is filed.
func (ix *index) valuesOf(id uint32) indexValues {
	if _, failed := ix.lacking[id]; failed {
		return lacking
	}
	places := ix.places(id)
	values := make([]string, len(places))
	for i, r := range places {
		values[i] = r.post.value
	}
	return values
}

// build files all live objects in a new index.
func (c *core) build(x *indexer, gen uint64, rows *rows, column int, functions *sync.Mutex, failed *failures) *index {
	ix := newIndex(x, c.seed, gen, rows, column, &changes{building: true})
	b := &builder{core: c, gen: gen, ixs: []*index{ix}, failed: *failed, waits: true, block: new(builderBlock)}
	if x.single == nil {
		b.functions = functions
	}
	c.live(b.refile)
	b.refileRest()
	ix.log, *failed = &c.log, b.failed
	return ix
}

// live calls f for each record that has an object in the newest state. Writer only.
func (c *core) live(f func(id uint32, r *record)) {
	for i, chunk := range c.records.chunks() {
		for j := range chunk {
			if r := &chunk[j]; !r.none() {
				f(uint32(i<<slabBits|j), r)
			}
		}
	}
}

// Places is a set of places in a body.
type Places []uint64

// Put adds a place if in is true, and removes it otherwise.
func (s *Places) Put(id uint32, in bool) {
	word, bit := int(id/64), uint64(1)<<(id%64)
	switch {
	case in:
		for word >= len(*s) {
			*s = append(*s, 0)
		}
		(*s)[word] |= bit
	case word < len(*s):
		(*s)[word] &^= bit
	}
}

// Has reports whether a place is in the set.
func (s Places) Has(id uint32) bool {
	word := int(id / 64)
	return word < len(s) && s[word]&(1<<(id%64)) != 0
}

// all yields the places in rising order.
func (s Places) all(yield func(id uint32) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}
