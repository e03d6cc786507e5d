// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// Survey is how large a table is without its objects and the text of their keys, for who wants to
// know what it costs.
type Survey struct {
	Bytes   int64 // of hash table and records, indexes left out
	Indexes []IndexSurvey
}

// IndexSurvey is how large an index is. Beyond surveyedGroups groups of its hash table, that is
// some 300 values, it is an estimate.
type IndexSurvey struct {
	Name     string
	Values   int    // with members
	Members  int    // an object is one of each of its values
	Lacking  int    // objects for which the function failed
	Failures uint64 // of the function, so far
	Bytes    int64
}

// surveyedGroups bounds the groups of a hash table whose postings are looked at. The tags of all
// groups are, a cache line for 7 slots: 2 ms for 10^6 values.
const surveyedGroups = 64

// Survey looks at the newest state. It costs as much as the indexes have values, and allocates no
// more than its result.
func (t *Table) Survey() Survey {
	v, p := t.pin()
	defer t.leave(p)
	c := v.core
	s := Survey{Bytes: int64(len(*c.keys.groups.Load()))*int64(unsafe.Sizeof(keyGroup{})) +
		int64(len(c.records.chunks()))*int64(unsafe.Sizeof(slabChunk{}))}
	for _, ix := range *c.indexes.Load() {
		if ix.born <= v.gen {
			s.Indexes = append(s.Indexes, v.survey(ix))
		}
	}
	return s
}

// survey is Survey for an index. Pinned views only.
func (v view) survey(ix *index) IndexSurvey {
	groups := *ix.values.groups.Load()
	s := IndexSurvey{Name: ix.name, Lacking: int(ix.lacks.Load()), Failures: ix.failures.Load()}
	var postings, bytes int64
	step, looked := max(1, (len(groups)+surveyedGroups-1)/surveyedGroups), 0
	for i := 0; i < len(groups); i += step {
		g := &groups[i]
		for used := g.used(); used != 0; used &= used - 1 {
			looked++
			p := g.refs[first(used)].Load()
			if p == nil || !v.inhabited(p) { // or it has gone meanwhile
				continue
			}
			n, _ := v.count(p)
			postings, s.Members, bytes = postings+1, s.Members+n, bytes+p.size()
		}
	}
	if step > 1 && looked > 0 {
		scale := float64(usedSlots(groups)) / float64(looked)
		postings, s.Members = int64(float64(postings)*scale), int(float64(s.Members)*scale)
		bytes = int64(float64(bytes) * scale)
	}
	s.Values = int(postings)
	s.Bytes = bytes + int64(len(groups))*int64(unsafe.Sizeof(group[posting]{})) +
		int64(v.core.size())*int64(unsafe.Sizeof(ref{}))
	return s
}

// usedSlots counts the slots that are in use.
func usedSlots[T any](groups []group[T]) (n int) {
	for i := range groups {
		n += bits.OnesCount64(groups[i].used())
	}
	return n
}

// size is the memory of a posting, without what older generations see of it.
func (p *posting) size() int64 {
	n := int64(unsafe.Sizeof(posting{}))
	if len(p.value) > textLen {
		n += int64(len(p.value))
	}
	for _, l := range p.leaves {
		if l != nil {
			n += int64(unsafe.Sizeof(leaf{})) + 4*int64(l.room)
		}
	}
	return n
}

// Sample returns up to so many objects from all over the table, and the bytes of their keys: all if
// there are no more. Of a large table, whose size makes no difference to it, it may return some
// less.
func (t *Table) Sample(most int) (objects []any, keys int) {
	v, p := t.pin()
	defer t.leave(p)
	chunks := v.core.records.chunks()
	slots := len(chunks) << slabBits
	if slots <= fewSlots {
		return v.thinned(most)
	}
	next, offset := 0, rand.IntN(max(1, slots/max(1, most)))
	for i := range most {
		at := max(next, i*slots/most+offset)
		for next = min(slots, at+2*slabLen); at < next; at++ {
			r := &chunks[at>>slabBits][at&slabMask]
			if w := r.at(v.gen); !w.none() {
				objects, keys, next = append(objects, w.object()), keys+len(r.key()), at+1
			}
		}
	}
	return objects, keys
}

// fewSlots are looked at one by one, which takes some 5 us.
const fewSlots = 16 * slabLen

// thinned is Sample for a small table. Pinned views only.
func (v view) thinned(most int) (objects []any, keys int) {
	n := 0
	v.records(func(string, any) bool { n++; return true })
	i, taken := 0, 0
	v.records(func(key string, obj any) bool {
		if i++; i*most/n > taken || n <= most {
			objects, keys, taken = append(objects, obj), keys+len(key), i*most/n
		}
		return true
	})
	return objects, keys
}
