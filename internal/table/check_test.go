// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave || !interleave

package table

import (
	"fmt"
	"slices"
)

// In builds with invariants, a write to a table of up to checkAlways objects and kept versions is
// followed by a check of the whole table. A table of n is checked at every n-th generation, so that
// the checks cost each write the same.
const checkAlways = 64

func init() { afterWrite = (*Table).check }

// check panics if the structure violates an invariant of doc.go. Writer only.
func (t *Table) check() {
	c := t.core.Load()
	if n := c.n + int(t.kept.Load()); n > checkAlways && c.published.Load()%uint64(n) != 0 {
		return
	}
	if err := t.verify(); err != nil {
		panic(err)
	}
}

// verify walks the whole table and returns the first broken invariant.
func (t *Table) verify() error {
	kept, err := t.verifyPins()
	if n := t.kept.Load(); err == nil && int(n) != len(kept) {
		err = fmt.Errorf("%d versions are kept, %d are counted", len(kept), n)
	}
	if err != nil {
		return err
	}
	for i, c := range t.bodies() {
		if err := c.verify(kept); err != nil {
			return fmt.Errorf("body %d: %w", i, err)
		}
	}
	return nil
}

// bodies returns the current body and the former ones of which versions are kept.
func (t *Table) bodies() []*core {
	bodies := []*core{t.core.Load()}
	kept, _ := t.verifyPins()
	for _, k := range kept {
		if !slices.Contains(bodies, k.core) {
			bodies = append(bodies, k.core)
		}
	}
	return bodies
}

// verifyPins checks that the open pins are in order, and that each kept version is filed under a pin
// that needs it. It returns the kept versions.
func (t *Table) verifyPins() (kept []oldVersion, err error) {
	l := &t.pins
	l.Lock()
	defer l.Unlock()
	var all []*pin
	var before *pin
	snapshots := 0
	for p := l.oldest; p != nil; p = p.newer {
		if p.older != before || before != nil && p.gen < before.gen {
			return nil, fmt.Errorf("a pin at %d is out of order", p.gen)
		}
		if p.since != 0 {
			snapshots++
		}
		all, before = append(all, p), p
	}
	if before != l.newest || snapshots != l.snapshots || !l.busy.Load() && before != nil {
		return nil, fmt.Errorf("%d pins, %d snapshots of %d, and not the newest", len(all), snapshots, l.snapshots)
	}
	for _, left := range []*pin{t.w.left, l.left} {
		for p := left; p != nil; p = p.newer {
			all = append(all, p)
		}
	}
	for _, p := range all {
		for _, k := range p.kept {
			if from, upTo := k.interval(); p.gen < max(from, k.core.born) || p.gen >= upTo {
				return nil, fmt.Errorf("a version from %d to %d is kept for a pin at %d", from, upTo, p.gen)
			}
		}
		kept = append(kept, p.kept...)
	}
	return kept, nil
}

// interval returns the generations at which a version is visible: from, up to but not including
// upTo.
func (k *oldVersion) interval() (from, upTo uint64) {
	if k.post != nil {
		for o := k.post.leaf(k.i).old.Load(); o != nil; o = o.prev.Load() {
			if o.from == k.gen {
				return o.from, o.upTo
			}
		}
		return 0, 0
	}
	r := k.core.records.at(k.i)
	upTo = r.gen.Load()
	for p := r.undo.Load(); p != nil; p = p.prev.Load() {
		if p.gen == k.gen {
			return p.gen, upTo
		}
		upTo = p.gen
	}
	return 0, 0
}

func (c *core) verify(kept []oldVersion) error {
	live, older, err := c.verifyRecords()
	if err != nil {
		return err
	}
	if m := c.meta(); m.n != live || c.n != live {
		return fmt.Errorf("meta says %d, writer %d, %d are alive", m.n, c.n, live)
	}
	for _, ix := range *c.indexes.Load() {
		n, err := ix.verify(c)
		if err != nil {
			return fmt.Errorf("index %q: %w", ix.name, err)
		}
		older += n
	}
	for _, k := range kept {
		if k.core == c {
			older--
		}
	}
	if older != 0 {
		return fmt.Errorf("%d more older versions than are kept", older)
	}
	return nil
}

// verifyRecords checks that each record with a key is in the hash table under it and each idle one
// is empty, that generations fall along a chain and none is newer than the published one, and that
// a deleted record has an older version.
func (c *core) verifyRecords() (live, older int, err error) {
	used := 0
	for i, chunk := range c.records.chunks() {
		for j := range chunk {
			r := &chunk[j]
			n, err := c.verifyRecord(uint32(i<<slabBits|j), r)
			if err != nil {
				return 0, 0, fmt.Errorf("record %q: %w", r.key(), err)
			}
			older += n
			if !r.idle() {
				used++
			}
			if !r.none() {
				live++
			}
		}
	}
	if used != c.records.inUse() || used != c.keys.live {
		return 0, 0, fmt.Errorf("%d records, %d ids, %d keys", used, c.records.inUse(), c.keys.live)
	}
	return live, older, verifyHints(*c.keys.groups.Load())
}

// verifyHints checks that a used slot has the same key as its record, and a free one has none.
func verifyHints(groups []keyGroup) error {
	for i := range groups {
		g := &groups[i]
		for j := range g.refs {
			key, r := loadSlot(g, j)
			switch used := g.used()>>(8*j)&0xFF != 0; {
			case used && key != r.keyData:
				return fmt.Errorf("slot %d of group %d and record %q differ", j, i, r.key())
			case !used && key != nil:
				return fmt.Errorf("slot %d of group %d is free and has a key", j, i)
			}
		}
	}
	return nil
}

func (c *core) verifyRecord(id uint32, r *record) (older int, err error) {
	gen, published := r.gen.Load(), c.published.Load()
	if gen > published {
		return 0, fmt.Errorf("generation %d is a draft, %d is published", gen, published)
	}
	for p := r.undo.Load(); p != nil; p = p.prev.Load() {
		if p.gen >= gen {
			return 0, fmt.Errorf("generation %d comes before %d", gen, p.gen)
		}
		gen = p.gen
		older++
	}
	if r.idle() {
		if !r.none() || r.data != nil || older > 0 {
			return 0, fmt.Errorf("idle record %d is not empty", id)
		}
		return 0, nil
	}
	if c.locate(c.hashOf(r), r.key()) != r || r.id != id {
		return 0, fmt.Errorf("key does not lead to id %d", id)
	}
	if r.none() && older == 0 {
		return 0, fmt.Errorf("deleted, with nothing to keep")
	}
	return older, nil
}

// verify checks that each posting is found by its value, has the members in its leaves, and is not
// spent; and that each place of a live object refers to it.
func (ix *index) verify(c *core) (older int, err error) {
	posts, filed := 0, 0
	groups := *ix.values.groups.Load()
	for i := range groups {
		for used := groups[i].used(); used != 0; used &= used - 1 {
			p := groups[i].refs[first(used)].Load()
			posts++
			n, err := ix.verifyPosting(p, c.published.Load())
			if err != nil {
				return 0, fmt.Errorf("value %q: %w", p.value, err)
			}
			older += n
			filed += int(p.n)
		}
	}
	if posts != ix.values.live {
		return 0, fmt.Errorf("%d postings, %d values", posts, ix.values.live)
	}
	return older, ix.verifyPlaces(c, filed)
}

// verifyPosting checks that all leaves are full up to the number of members and empty after it, and
// that a visible state has a member.
func (ix *index) verifyPosting(p *posting, published uint64) (older int, err error) {
	if ix.find(p.value) != p {
		return 0, fmt.Errorf("not found by its value")
	}
	if p.spent() {
		return 0, fmt.Errorf("no visible state has a member")
	}
	left := int(p.n)
	for i, l := range p.leaves {
		if int(l.n) != min(left, leafLen) {
			return 0, fmt.Errorf("leaf %d is not filled as %d members ask for", i, p.n)
		}
		left -= int(l.n)
		n, err := l.verify(published)
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

// verify checks that the kept versions are full copies of successive intervals, the newest first.
func (l *leaf) verify(published uint64) (older int, err error) {
	gen := l.gen.Load()
	if gen > published {
		return 0, fmt.Errorf("generation %d is a draft, %d is published", gen, published)
	}
	for o := l.old.Load(); o != nil; o = o.prev.Load() {
		if o.full == nil || o.from >= o.upTo || o.upTo > gen {
			return 0, fmt.Errorf("generations %d to %d come before %d", o.from, o.upTo, gen)
		}
		gen = o.from
		older++
	}
	return older, nil
}

// verifyPlaces checks that the rows of the live objects agree with the leaves, and that the leaves
// have no other members.
func (ix *index) verifyPlaces(c *core, filed int) (err error) {
	lacking := len(ix.lacking)
	c.live(func(id uint32, r *record) {
		if _, failed := ix.lacking[id]; failed {
			if lacking--; err == nil && len(ix.places(id)) > 0 {
				err = fmt.Errorf("%q has places although its function failed", r.key())
			}
		}
		for _, place := range ix.places(id) {
			filed--
			p := place.post
			l := p.leaf(place.pos >> leafBits)
			if err == nil && l.ids()[place.pos&leafMask] != id {
				err = fmt.Errorf("%q is not where its row says, under %q", r.key(), p.value)
			}
		}
	})
	if err == nil && (lacking != 0 || ix.lacks.Load() != int64(len(ix.lacking))) {
		err = fmt.Errorf("%d objects lack a place, %d are counted, %d are gone", len(ix.lacking), ix.lacks.Load(), lacking)
	}
	if err == nil && filed != 0 {
		err = fmt.Errorf("%d members have no place in a row", filed)
	}
	return err
}
