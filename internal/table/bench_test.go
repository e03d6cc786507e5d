// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// benchPods is the size at which the figures are compared.
const benchPods = 100_000

func podIndexers(n int) map[string]IndexFunc {
	all := []struct {
		name string
		fn   IndexFunc
	}{
		{"namespace", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Namespace}, nil }},
		{"node", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }},
		{"owner", func(obj any) ([]string, error) {
			return []string{string(obj.(*corev1.Pod).OwnerReferences[0].UID)}, nil
		}},
	}
	m := make(map[string]IndexFunc)
	for _, x := range all[:n] {
		m[x.name] = x.fn
	}
	return m
}

func benchPod(i int) *corev1.Pod {
	owner := i / 10
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("team-%03d", owner%100),
			Name:            fmt.Sprintf("service-%05d-6b7c9d5f4-%05x", owner, i),
			UID:             types.UID(fmt.Sprintf("%08x-aaaa-bbbb-cccc-0123456789ab", i)),
			ResourceVersion: strconv.Itoa(i),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprintf("%08x-dddd-bbbb-cccc-0123456789ab", owner))}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", rand.IntN(benchPods/30))},
	}
}

type population struct {
	pods map[string]any
	keys []string
}

func populate(n int) population {
	p := population{pods: make(map[string]any, n)}
	for i := range n {
		pod := benchPod(i)
		key := pod.Namespace + "/" + pod.Name
		p.pods[key] = pod
		p.keys = append(p.keys, key)
	}
	rand.Shuffle(len(p.keys), func(i, j int) { p.keys[i], p.keys[j] = p.keys[j], p.keys[i] })
	return p
}

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
