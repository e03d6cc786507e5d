// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit"
)

// population is a set of objects, no two of which are equal.
type population struct {
	name   string
	object func(i int) []byte
	d      format
}

// inDocument returns documents with a list whose first element is a unique string.
func inDocument(rest string) func(int) []byte {
	return func(i int) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"a/v1","kind":"A","spec":["%016x",%s]}`, i, rest)
	}
}

func inPod(format string) func(int) []byte {
	return func(i int) []byte { return fmt.Appendf(nil, format, fmt.Sprintf("%016x", i)) }
}

func populations(t testing.TB) []population {
	ten := strings.Repeat(`,{"name":""}`, 10)
	real := pods(t, 2000)
	pods := func(i int) []byte { return real[i%len(real)] }
	labels := inPod(`{"metadata":{"labels":{"a":"%s"}}}`)
	many := inPod(`{"metadata":{"labels":{"a":"%s"` + manyMembers(100) + `}}}`)
	texts := inPod(`{"metadata":{"finalizers":["%s"` + strings.Repeat(`,""`, 50) + `]}}`)
	long := inPod(`{"metadata":{"labels":{"a":"%s` + strings.Repeat("x", 2700) + `"}}}`)
	containers := inPod(`{"spec":{"containers":[{"name":"%s"}` + ten + `]}}`)
	pointers := inPod(`{"spec":{"volumes":[{"name":"%s","secret":{},"configMap":{},"nfs":{},"iscsi":{},"projected":{},"csi":{},"downwardAPI":{},"azureFile":{},"quobyte":{},"rbd":{},"cinder":{},"flexVolume":{},"scaleIO":{},"storageos":{},"portworxVolume":{},"glusterfs":{},"cephfs":{},"fc":{}}]}}`)
	list := []population{
		{"pods", pods, inDocuments},
		{"empty objects", inDocument(strings.Repeat(`{},`, 50) + `1`), inDocuments},
		{"empty lists", inDocument(strings.Repeat(`[],`, 50) + `1`), inDocuments},
		{"small objects", inDocument(strings.Repeat(`{"a":1},`, 50) + `1`), inDocuments},
		{"small lists", inDocument(strings.Repeat(`[1],`, 50) + `1`), inDocuments},
		{"numbers", inDocument(strings.Repeat(`0.1,300,`, 50) + `1`), inDocuments},
		{"large objects", inDocument(`{"a":""` + manyMembers(1000) + `}`), inDocuments},
		{"nulls", inDocument(strings.Repeat(`null,`, 50) + `1`), inDocuments},
	}
	for name, object := range map[string]func(int) []byte{
		"pods": pods, "labels": labels, "many labels": many, "texts": texts, "containers": containers, "pointers": pointers, "long texts": long,
	} {
		list = append(list, population{name, object, inJSON}, population{name, object, inProtobuf})
	}
	return list
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":""`, i)
	}
	return b.String()
}

// heapOf returns the value of build and the bytes of heap that it keeps alive.
func heapOf[T any](build func() T) (bytes int64, built T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	built = build()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc), built
}

// TestPartSizesMatchTheHeap checks, for each population, that the size of a table is at least the
// heap that it keeps alive, and is within the limit. Nested parts, which are counted several times,
// are the main difference.
func TestPartSizesMatchTheHeap(t *testing.T) {
	testkit.AtNight(t)
	const limit = 4 << 20
	for _, p := range populations(t) {
		t.Run(p.name+" in "+p.d.name, func(t *testing.T) {
			fill := func() *Parts {
				table := NewParts(limit)
				o := Options{Share: NewSharing(table)}
				for i := 0; i < 100_000 && table.Status().Entered < 20_000 && table.Status().Bytes < limit*9/10; i++ {
					data := p.d.pod(t, string(p.object(i)))
					for range 2 {
						p.d.decoded(t, podType, data, o)
						o.Share = NewSharing(table)
					}
				}
				return table
			}
			fill() // allocate everything that is allocated once
			heap, table := heapOf(fill)
			status := table.Status()
			require.NoError(t, table.Check())
			t.Logf("%d parts, %d bytes of heap, %d as it says: %.2f", status.Entries, heap, status.Bytes, float64(heap)/float64(status.Bytes))
			require.Greater(t, status.Bytes, int64(limit/3), "enough to be measured: the smallest parts fill the slots first")
			assert.LessOrEqual(t, heap, status.Bytes*102/100)
			assert.LessOrEqual(t, status.Bytes, int64(limit))
			runtime.KeepAlive(table)
		})
	}
}
