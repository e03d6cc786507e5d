// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"testing"
)

// manySnapshots is what a stuck handler leaves in a week of resyncs a minute.
const manySnapshots = 10_000

// snapshotEach takes n snapshots, each of another state.
func snapshotEach(table *Table, p population, n int) []*Snapshot {
	held := make([]*Snapshot, n)
	for i := range held {
		key := p.keys[i%len(p.keys)]
		put(table, key, p.pods[key])
		held[i] = table.Snapshot()
	}
	return held
}

// BenchmarkSnapshots is what open snapshots cost others: writes, reads that
// take a pin, and further snapshots.
func BenchmarkSnapshots(b *testing.B) {
	p := populate(1000)
	table := New(podIndexers(3), Options{})
	for key, pod := range p.pods {
		put(table, key, pod)
	}
	measure := func(when string) {
		b.Run("write/"+when, func(b *testing.B) {
			for i := range b.N {
				key := p.keys[i%len(p.keys)]
				put(table, key, p.pods[key])
			}
		})
		b.Run("pinned-read/"+when, func(b *testing.B) {
			for range b.N {
				v, pin := table.pin()
				_, _ = v.get(p.keys[0])
				table.leave(pin)
			}
		})
		b.Run("read-across-a-write/"+when, func(b *testing.B) {
			for i := range b.N {
				key := p.keys[i%len(p.keys)]
				v, pin := table.pin()
				put(table, key, p.pods[key])
				_, _ = v.get(key)
				table.leave(pin)
			}
		})
		b.Run("snapshot/"+when, func(b *testing.B) {
			for range b.N {
				table.Snapshot().Close()
			}
		})
	}
	measure("none")
	held := snapshotEach(table, p, manySnapshots)
	measure("10000-open")
	for name, which := range map[string]func(i int) int{
		"oldest": func(i int) int { return i % manySnapshots },
		"any":    func(int) int { return rand.IntN(manySnapshots) },
	} {
		b.Run("write-snapshot-close-"+name+"/10000-open", func(b *testing.B) {
			for i := range b.N {
				key, at := p.keys[i%len(p.keys)], which(i)
				put(table, key, p.pods[key])
				held[at].Close()
				held[at] = table.Snapshot()
			}
		})
	}
	for _, s := range held {
		s.Close()
	}
	requireNothingKept(b, table)
	measure("10000-closed")
}
