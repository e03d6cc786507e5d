// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// Survey is the size of a table, without its objects and the text of their keys.
type Survey struct {
	Bytes   int64 // of the hash table and the records, without indexes
	Indexes []IndexSurvey
}

// IndexSurvey is the size of an index. It is an estimate if the index has more than about 300
// values, that is more than surveyedGroups groups in its hash table.
type IndexSurvey struct {
	Name     string
	Values   int    // values with at least one object
	Members  int    // the number of pairs of an object and one of its values
	Lacking  int    // objects for which the function failed
	Failures uint64 // failed calls of the function so far
	Bytes    int64
}

// surveyedGroups bounds the groups of a hash table whose postings are examined. The tags of all
// groups are read, a cache line for 7 slots: 2 ms for 10^6 values.
const surveyedGroups = 64

// Survey returns the size of the newest state. Its cost is proportional to the number of values of
// the indexes, and it allocates only its result.
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

// survey is Survey for one index. Pinned views only.
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
			if p == nil || !v.inhabited(p) { // removed meanwhile
				continue
			}
			n, _ := v.members(p)
			postings, s.Members, bytes = postings+1, s.Members+n, bytes+p.size()
		}
	}
	if step > 1 && looked > 0 {
		scale := float64(usedSlots(groups)) / float64(looked)
		postings, s.Members = int64(float64(postings)*scale), int(float64(s.Members)*scale)
		bytes = int64(float64(bytes) * scale)
	}
	s.Values = int(postings)
	s.Bytes = bytes + int64(len(groups))*int64(unsafe.Sizeof(group[posting, struct{}]{})) + placesSize(v.core.meta().n, s.Members)
	return s
}

// manySlot is the size of an entry of index.many, a key and a slice of 32 bytes in all, with its share of
// empty slots, in bytes.
const manySlot = 48

// placesSize estimates the memory, in bytes, of the places of n objects with members values in all. Each
// object is taken to have a value, and as many as can be to have several. So it is too low where many
// objects have none.
func placesSize(n, members int) int64 {
	place, several := int64(unsafe.Sizeof(ref{})), max(0, min(n, members-n))
	size := int64(n) * place
	if several > 0 {
		size += int64(several)*manySlot + int64(members-n+several)*place
	}
	return size
}

// usedSlots returns the number of slots in use.
func usedSlots[T, H any](groups []group[T, H]) (n int) {
	for i := range groups {
		n += bits.OnesCount64(groups[i].used())
	}
	return n
}

// size returns the memory of a posting in bytes, without older versions of its leaves.
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

// Sample returns up to most objects, spread over the table, and the number of bytes of their keys.
// It returns all objects if there are no more. From a large table it may return a few less than
// most; its cost does not depend on the table's size.
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

// fewSlots is the number of slots up to which Sample examines each one, which takes about 5 us.
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
