// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"
)

// benchPods is the size at which the figures are compared.
const benchPods = 100_000

// subject is a store under measurement.
type subject interface {
	get(key string) (any, bool)
	list() []any
	byIndex(index, value string) []any
	put(key string, obj any)
	del(key string)
	replace(map[string]any)
}

type ours struct{ *Table }

func (o ours) get(key string) (any, bool) { return o.Get(key) }
func (o ours) list() []any                { return o.List() }
func (o ours) byIndex(i, v string) []any  { objs, _ := o.ByIndex(i, v); return objs }
func (o ours) put(key string, obj any)    { o.Apply([]Op{{Key: key, Object: obj}}, keepRV) }
func (o ours) del(key string)             { o.Apply([]Op{{Key: key, Delete: true}}, keepRV) }
func (o ours) replace(m map[string]any)   { o.Replace(maps.All(m), len(m), "1") }

func keepRV(rv string) string { return rv }

type theirs struct{ clientgo.ThreadSafeStore }

func (o theirs) get(key string) (any, bool) { return o.Get(key) }
func (o theirs) list() []any                { return o.List() }
func (o theirs) byIndex(i, v string) []any  { objs, _ := o.ByIndex(i, v); return objs }
func (o theirs) put(key string, obj any)    { o.Update(key, obj) }
func (o theirs) del(key string)             { o.Delete(key) }
func (o theirs) replace(m map[string]any)   { o.Replace(m, "1") }

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

func subjects(indexers int) map[string]subject {
	x, theirX := podIndexers(indexers), clientgo.Indexers{}
	for name, fn := range x {
		theirX[name] = fn
	}
	return map[string]subject{
		"kinformer": ours{New(x, Options{})},
		"client-go": theirs{clientgo.NewThreadSafeStore(theirX, clientgo.Indices{})},
	}
}

// BenchmarkTable compares each operation with client-go's store in one process.
func BenchmarkTable(b *testing.B) {
	p := populate(benchPods)
	ss := subjects(3)
	for _, s := range ss {
		s.replace(maps.Clone(p.pods))
	}
	var sink int
	cases := []struct {
		name string
		f    func(s subject, i int)
	}{
		{"Get", func(s subject, i int) {
			o, _ := s.get(p.keys[i%benchPods])
			sink += len(o.(*corev1.Pod).Name)
		}},
		{"List", func(s subject, i int) { sink += len(s.list()) }},
		{"ByIndex1000", func(s subject, i int) { sink += len(s.byIndex("namespace", fmt.Sprintf("team-%03d", i%100))) }},
		{"ByIndex30", func(s subject, i int) { sink += len(s.byIndex("node", fmt.Sprintf("node-%04d", i*7%3333))) }},
		{"UpdateSame", func(s subject, i int) { k := p.keys[i%benchPods]; s.put(k, p.pods[k]) }},
		{"UpdateMoved", func(s subject, i int) {
			k := p.keys[i%benchPods]
			pod := *p.pods[k].(*corev1.Pod)
			pod.Spec.NodeName = fmt.Sprintf("node-%04d", rand.IntN(benchPods/30))
			s.put(k, &pod)
		}},
		{"AddDelete", func(s subject, i int) {
			k := p.keys[i%benchPods]
			s.del(k)
			s.put(k, p.pods[k])
		}},
		{"Replace", func(s subject, i int) { s.replace(maps.Clone(p.pods)) }},
	}
	for _, c := range cases {
		for _, name := range []string{"client-go", "kinformer"} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					c.f(ss[name], i)
				}
			})
		}
	}
	runtime.KeepAlive(sink)
}

// BenchmarkBytes reports what a store holds beyond the objects, fresh and
// after as many random updates and deletions as b.N asks for.
func BenchmarkBytes(b *testing.B) {
	p := populate(benchPods)
	for _, indexers := range []int{0, 1, 3} {
		for _, name := range []string{"client-go", "kinformer"} {
			b.Run(fmt.Sprintf("%d/%s", indexers, name), func(b *testing.B) {
				before := heap()
				s := subjects(indexers)[name]
				m := make(map[string]any, len(p.pods))
				for k, o := range p.pods {
					m[string([]byte(k))] = o
				}
				s.replace(m)
				m = nil
				b.ReportMetric(float64(heap()-before)/benchPods, "B/obj-fresh")
				for range b.N {
					k := p.keys[rand.IntN(benchPods)]
					if rand.IntN(2) == 0 {
						s.del(k)
					}
					s.put(string([]byte(k)), p.pods[k])
				}
				b.ReportMetric(float64(heap()-before)/benchPods, "B/obj-used")
				b.ReportMetric(0, "ns/op")
				runtime.KeepAlive(s)
			})
		}
	}
	runtime.KeepAlive(p)
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
