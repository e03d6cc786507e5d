// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "fmt"

// In builds with invariants each write to a table of up to checkAlways objects
// is followed by a check of all of it. A larger one is checked after as many
// writes as it has objects, so that the checks cost each write the same.
const checkAlways = 64

// check panics if the structure is not what doc.go says. Writer only; it
// compiles to nothing without invariants.
func (t *Table) check() {
	if !invariants {
		return
	}
	t.w.unchecked++
	if n := t.core.Load().n; n > checkAlways && t.w.unchecked < n {
		return
	}
	t.w.unchecked = 0
	if err := t.verify(); err != nil {
		panic(err)
	}
}

// verify walks the whole table and returns the first broken invariant.
func (t *Table) verify() error {
	for i, c := range t.bodies() {
		if err := c.verify(); err != nil {
			return fmt.Errorf("body %d: %w", i, err)
		}
	}
	return nil
}

func (c *core) verify() error {
	live, older, err := c.verifyRecords()
	if err != nil {
		return err
	}
	if m := c.meta.head.Load(); m.val.n != live || c.n != live {
		return fmt.Errorf("meta says %d, writer %d, %d are alive", m.val.n, c.n, live)
	}
	for _, ix := range *c.indexes.Load() {
		n, err := ix.verify(c)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.name, err)
		}
		older += n
	}
	if older != c.limbo.n || older != c.limbo.count() {
		return fmt.Errorf("%d older versions, %d counted, %d in limbo", older, c.limbo.n, c.limbo.count())
	}
	return nil
}

// verifyRecords: each cell with versions is in the hash table under its key,
// each free one is not; a chain has one key and falling generations, none
// newer than the published one; a deleted record is kept only with a past.
func (c *core) verifyRecords() (live, older int, err error) {
	cells := 0
	for i, chunk := range c.records.chunks() {
		for j := range chunk {
			v := chunk[j].head.Load()
			if v == nil {
				continue
			}
			cells++
			if slot, ok := c.locate(c.hashOf(v), v.val.key); !ok || c.keys.ids[slot] != uint32(i<<slabBits|j) {
				return 0, 0, fmt.Errorf("key %q does not lead to id %d", v.val.key, i<<slabBits|j)
			}
			if c.find(v.val.key) != v {
				return 0, 0, fmt.Errorf("key %q leads to another version than id %d", v.val.key, i<<slabBits|j)
			}
			n, err := chainLen(v, c.published.Load())
			if err != nil {
				return 0, 0, fmt.Errorf("record %q: %w", v.val.key, err)
			}
			if older += n; !v.val.dead() {
				live++
			} else if n == 0 {
				return 0, 0, fmt.Errorf("deleted record %q has nothing to keep", v.val.key)
			}
		}
	}
	if cells != c.records.held() || cells != c.keys.live {
		return 0, 0, fmt.Errorf("%d records, %d ids, %d keys", cells, c.records.held(), c.keys.live)
	}
	return live, older, nil
}

// chainLen counts the versions behind v.
func chainLen[T any](v *version[T], published uint64) (older int, err error) {
	if v.gen > published {
		return 0, fmt.Errorf("generation %d is a draft, %d is published", v.gen, published)
	}
	for p := v.prev.Load(); p != nil; v, p = p, p.prev.Load() {
		if p.gen >= v.gen {
			return 0, fmt.Errorf("generation %d comes before %d", v.gen, p.gen)
		}
		older++
	}
	return older, nil
}

// verify: each posting is found by its value, has the members that its leaves
// hold and something to be there for; each place of a live object leads to it.
func (ix *index) verify(c *core) (older int, err error) {
	posts, filed := 0, 0
	for _, chunk := range ix.posts.chunks() {
		for i := range chunk {
			p := chunk[i].Load()
			if p == nil {
				continue
			}
			posts++
			n, err := ix.verifyPosting(p, c.published.Load())
			if err != nil {
				return 0, fmt.Errorf("value %q: %w", p.value, err)
			}
			older += n
			filed += int(p.n)
		}
	}
	if posts != ix.posts.held() || posts != ix.values.live {
		return 0, fmt.Errorf("%d postings, %d ids, %d values", posts, ix.posts.held(), ix.values.live)
	}
	return older, ix.verifyPlaces(c, filed)
}

// verifyPosting: all leaves are full up to the number of members and empty
// after it, and somebody sees a member.
func (ix *index) verifyPosting(p *posting, published uint64) (older int, err error) {
	if ix.find(p.value) != p {
		return 0, fmt.Errorf("not found by its value")
	}
	if p.spent() {
		return 0, fmt.Errorf("nobody sees a member")
	}
	left := int(p.n)
	for i := range uint32(len(p.rest()) + 1) {
		v := p.leaf(i).head.Load()
		if v == nil || len(v.val.ids) != min(left, leafLen) {
			return 0, fmt.Errorf("leaf %d is not filled as %d members ask for", i, p.n)
		}
		left -= len(v.val.ids)
		n, err := chainLen(v, published)
		if err != nil {
			return 0, fmt.Errorf("leaf %d: %w", i, err)
		}
		older += n
	}
	if left != 0 {
		return 0, fmt.Errorf("%d of %d members are in no leaf", left, p.n)
	}
	return older, nil
}

// verifyPlaces: what refs says of the live objects is what the leaves hold,
// and the leaves hold nothing else.
func (ix *index) verifyPlaces(c *core, filed int) (err error) {
	c.live(func(id uint32, r *record) {
		ix.refs.cover(id)
		for _, place := range ix.places(id) {
			filed--
			p := ix.post(place)
			l := p.leaf(place.pos >> leafBits).head.Load()
			if err == nil && l.val.ids[place.pos&leafMask] != id {
				err = fmt.Errorf("%q is not where refs says, under %q", r.key, p.value)
			}
		}
	})
	if err == nil && filed != 0 {
		err = fmt.Errorf("%d members have no place in refs", filed)
	}
	return err
}

// count counts the versions by name.
func (l *limbo) count() (n int) {
	for _, b := range l.buckets {
		n += len(b.items)
	}
	for _, items := range l.queue {
		n += len(items)
	}
	return n
}
