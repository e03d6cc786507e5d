// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/testkit"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// TestRecorder: samples are at least a second apart, and those that are old are forgotten.
func TestRecorder(t *testing.T) {
	var r recorder
	times := func(samples []sample) (seconds []float64) {
		for _, s := range samples {
			seconds = append(seconds, s.at.Sub(began).Seconds())
		}
		return seconds
	}
	add := func(s float64) []float64 { return times(r.add(1, sample{at: at(s)})) }
	assert.Equal(t, []float64{0}, add(0))
	assert.Equal(t, []float64{0}, add(0.9))
	assert.Equal(t, []float64{0, 1}, add(1))
	assert.Equal(t, []float64{0, 1, 300}, add(300))
	assert.Equal(t, []float64{1, 300, 301}, add(301))
	assert.Equal(t, []float64{1, 300, 301}, add(300.5), "a look that was overtaken by another one")
	assert.Equal(t, []float64{301, 601}, add(601))
	assert.Equal(t, []float64{2000}, add(2000), "after a long time without a look")
	r.add(2, sample{at: at(2301)})
	assert.Len(t, r.mu.series, 1, "nobody has looked at the other")
}

// TestRecorderIsBounded: however many look at however many informers, it takes less than a MiB, and
// has those that were looked at last.
func TestRecorderIsBounded(t *testing.T) {
	var r recorder
	look := func(id uint64, second int) {
		r.add(id, sample{at: at(float64(second) + float64(id)/1000)})
		r.add(id, sample{at: at(float64(second) + float64(id)/1000 + 0.5)})
		if len(r.mu.series) > mostSeries {
			t.Fatal(len(r.mu.series))
		}
	}
	for second := range 10 {
		for id := range uint64(2 * mostSeries) {
			look(id, second)
		}
	}
	for id := range uint64(mostSeries) {
		assert.Contains(t, r.mu.series, mostSeries+id)
	}
	for second := range 2 * mostSamples {
		for id := range uint64(mostSeries) {
			look(id, 10+second)
		}
	}
	r.add(7777, sample{at: at(0)})
	assert.Len(t, r.mu.series, mostSeries, "a look that was overtaken by all others")
	delete(r.mu.series, 7777)
	bytes := 0
	for _, known := range r.mu.series {
		assert.InDelta(t, mostSamples-1, len(known), 1)
		bytes += cap(known) * int(unsafe.Sizeof(sample{}))
	}
	assert.Less(t, bytes, 1<<20)
	assert.Greater(t, bytes, 1<<18, "the test fills it")
}

// TestCharts: values are where they belong, in the time that the samples are of.
func TestCharts(t *testing.T) {
	assert.Empty(t, chartsOf(nil).Charts)
	one := chartsOf([]sample{{at(0), 7, 1, 2048}})
	assert.Equal(t, "30s", one.Span)
	assert.Equal(t, []chart{{Title: "Events/s"}, {Title: "Lag", Now: "1s", Most: "1s"}, {Title: "Heap of the process", Now: "2.0 KiB", Most: "2.0 KiB"}}, one.Charts)

	some := chartsOf([]sample{{at(0), 10, 0, 4096}, {at(15), 40, 0, 1024}, {at(30), 55, 0, 2048}})
	assert.Equal(t, "30s", some.Span)
	assert.Equal(t, []chart{
		{"Events/s", "1.0", "2.0", []string{"150.0,0.0 300.0,30.0"}},
		{"Lag", "0s", "0s", []string{"0.0,60.0 150.0,60.0 300.0,60.0"}},
		{"Heap of the process", "2.0 KiB", "4.0 KiB", []string{"0.0,0.0 150.0,45.0 300.0,30.0"}},
	}, some.Charts)

	short := chartsOf([]sample{{at(0), 0, 0.0003, 0}, {at(1), 0, 0, 0}})
	assert.Equal(t, chart{"Lag", "0s", "300µs", []string{"290.0,0.0 300.0,60.0"}}, short.Charts[1])

	gaps := chartsOf([]sample{{at(0), 0, 1, 1}, {at(30), 0, 1, 1}, {at(90), 0, 1, 1}, {at(180), 0, 1, 1}, {at(200), 0, 1, 1}})
	assert.Equal(t, "5m0s", gaps.Span)
	assert.Equal(t, []string{"100.0,0.0 130.0,0.0", "280.0,0.0 300.0,0.0"}, gaps.Charts[1].Lines, "nobody has looked between them")
}

// TestChartOnThePage: each look at an informer is a point, whatever form is asked for.
func TestChartOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(100)
		server := serving(testkit.PodAt("a", "1"))
		server.OnWatch = testkit.Watches(w)
		id := idOf(t, follow(t, server, &corev1.Pod{}, nil))
		other := follow(t, serving(), &corev1.Pod{}, nil)
		h := Handler(Options{})
		page := get(h, id).Body.String()
		assert.Equal(t, 3, strings.Count(page, "<figure>"))
		assert.NotContains(t, page, "<svg")
		assert.Contains(t, page, "The next look begins a line.")
		assert.Contains(t, page, `data-every="2"`)
		for i := range 20 {
			w.Events <- watch.Event{Type: watch.Added, Object: testkit.PodAt(fmt.Sprint(i), fmt.Sprint(6+i))}
		}
		time.Sleep(10 * time.Second)
		get(h, id+"&format=json")
		time.Sleep(10 * time.Second)
		page = get(h, id).Body.String()
		assert.Equal(t, 3, strings.Count(page, "<svg"))
		assert.Contains(t, page, `aria-label="Events/s, now 0.0, at most 2.0"`)
		assert.Contains(t, page, `<polyline points="200.0,0.0 300.0,60.0"/>`)
		assert.Contains(t, page, `<polyline points="100.0,60.0 200.0,60.0 300.0,60.0"/>`)
		assert.NotContains(t, get(h, idOf(t, other)).Body.String(), "<svg", "each has its own")
	})
}
