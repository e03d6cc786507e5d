// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// BenchmarkChecks tells how much longer pods of replica sets take to decode because of the parts
// that are checked, by medians of rounds: a 1024th of how much longer it takes if all are.
func BenchmarkChecks(b *testing.B) {
	list, plan := pods(b, benchPods), planOf(b, reflect.TypeFor[corev1.Pod]())
	b.Run("JSON", func(b *testing.B) {
		comparesChecks(b, func(i int, o Options) error { return plan.JSON(list[i], newPod(), o) })
	})
	var messages [][]byte
	for _, pod := range podMessages(b, benchPods) {
		data, err := pod.Marshal()
		must(b, err)
		messages = append(messages, data)
	}
	b.Run("protobuf", func(b *testing.B) {
		comparesChecks(b, func(i int, o Options) error { return plan.Protobuf(messages[i], newPod(), o) })
	})
	b.Run("unstructured", func(b *testing.B) {
		comparesChecks(b, func(i int, o Options) error {
			object, err := Unstructured(list[i], o)
			put(object)
			return err
		})
	})
}

// comparesChecks has all pods decoded as they are, and with all parts checked.
func comparesChecks(b *testing.B, decode func(int, Options) error) {
	const times = 10
	o := sharing()
	each := func(all bool) float64 {
		o.Checks = all
		before := testkit.CpuTime(b)
		for n := range times * benchPods {
			must(b, decode(n%benchPods, o))
		}
		return float64(testkit.CpuTime(b)-before) / (times * benchPods)
	}
	each(false) // fills the tables
	var usual, every []float64
	for b.Loop() {
		usual = append(usual, each(false))
		every = append(every, 100*(each(true)/usual[len(usual)-1]-1)/oftenChecked)
	}
	b.ReportMetric(median(usual), "cpu-ns/pod")
	b.ReportMetric(median(every), "%more-by-all")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// pods are n pods of 9 KB that differ as pods of some deployments do.
func pods(t testing.TB, n int) [][]byte {
	text := string(readFile(t, "testdata/pod.json"))
	list := make([][]byte, n)
	for i := range list {
		pod, set := fmt.Sprintf("%05x", i), fmt.Sprintf("9e%06x", i/50)
		list[i] = []byte(strings.NewReplacer(
			"00032", pod, "9e3817e8", set, "06dc122c", fmt.Sprintf("%08x", i*7919), "100050", fmt.Sprint(100050+i),
			"08:00:50", fmt.Sprintf("08:%02d:%02d", i/60%60, i%60), "catalogue-worker-1", fmt.Sprint("catalogue-worker-", i/50),
			"1a11db81", fmt.Sprintf("%08x", i), "10.126.4.206", fmt.Sprintf("10.126.%d.%d", i/250, i%250),
		).Replace(text))
	}
	return list
}

const benchPods = 1000

// sharing are options with tables of their own.
func sharing() Options {
	return Options{Intern: NewIntern(16 << 20), Share: NewSharing(NewParts(64 << 20))}
}

// store has the last objects, as an informer's store does: the garbage collector has to look at
// them.
var store = make([]any, benchPods)

// put stores a new object in the place of an older one.
func put(object any) {
	stored++
	store[stored%len(store)] = object
}

var stored int

// must is require.NoError without what that costs.
func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func newPod() *corev1.Pod {
	pod := new(corev1.Pod)
	put(pod)
	return pod
}
