// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package decode

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// BenchmarkChecks tells how much longer pods of replica sets take to decode because of the parts
// that are checked: the median of pairs, of which one half is decoded with the checks, one without.
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

// comparesChecks has all pods decoded by readers as they are, and by readers that check nothing.
func comparesChecks(b *testing.B, decode func(int, Options) error) {
	const times = 10
	usual := readers.New
	defer func() { readers = sync.Pool{New: usual} }()
	o, checks := sharing(), 0
	o.Share.Report(func(w *Written) { checks++ })
	each := func(made func() any) float64 {
		readers = sync.Pool{New: made}
		before := testkit.CpuTime(b)
		for n := range times * benchPods {
			must(b, decode(n%benchPods, o))
		}
		return float64(testkit.CpuTime(b)-before) / (times * benchPods)
	}
	unchecked := func() any { return &reader{toCheck: math.MaxInt} }
	each(unchecked) // fills the tables
	if checks > 0 {
		b.Fatal("parts are checked that are not to be")
	}
	var with, without, more []float64
	for b.Loop() {
		var on, off float64
		if len(more)%2 == 0 {
			on, off = each(usual), each(unchecked)
		} else {
			off, on = each(unchecked), each(usual)
		}
		with, without, more = append(with, on), append(without, off), append(more, 100*(on/off-1))
	}
	b.ReportMetric(median(with), "cpu-ns/checked")
	b.ReportMetric(median(without), "cpu-ns/unchecked")
	b.ReportMetric(median(more), "%more")
	b.ReportMetric(float64(checks)/float64(len(more)*times*benchPods)*1000, "checks/1000-pods")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
