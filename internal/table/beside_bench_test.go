// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"testing"
)

// BenchmarkBesideAWriter has 8 goroutines read while one updates without a
// pause what they read.
func BenchmarkBesideAWriter(b *testing.B) {
	const readers, objects = 8, 3000
	p := populate(objects)
	table := New(podIndexers(3), Options{})
	for key, pod := range p.pods {
		put(table, key, pod)
	}
	namespaces, _ := table.IndexValues("namespace")
	owners, _ := table.IndexValues("owner")
	for name, read := range map[string]func(i int) int{
		"get":        func(i int) int { _, _ = table.Get(p.keys[i%objects]); return 1 },
		"byindex-30": func(i int) int { o, _ := table.ByIndex("namespace", namespaces[i%len(namespaces)]); return len(o) },
		"byindex-10": func(i int) int { o, _ := table.ByIndex("owner", owners[i%len(owners)]); return len(o) },
		"list":       func(i int) int { return len(table.List()) },
		"all": func(int) (n int) {
			for range table.All() {
				n++
			}
			return n
		},
	} {
		b.Run(name, func(b *testing.B) {
			var stop atomic.Bool
			writes, done := 0, make(chan struct{})
			go func() {
				defer close(done)
				for ; !stop.Load(); writes++ {
					key := p.keys[writes*7%objects]
					put(table, key, p.pods[key])
				}
			}()
			b.SetParallelism(readers / 2)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					read(i)
				}
			})
			stop.Store(true)
			<-done
			b.ReportMetric(float64(writes)/b.Elapsed().Seconds()/1000, "kwrites/s")
		})
	}
}
