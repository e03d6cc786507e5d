// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// informerOf returns an informer of pods that are listed, with a watch without events.
func informerOf(indexers cache.Indexers, options kinformer.Options) cache.SharedIndexInformer {
	server := &testkit.Server{
		NoStream: true, OnWatch: testkit.Watches(),
		OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodAt("b", "2"))),
	}
	return kinformer.Constructor(options)(server, &v1.Pod{}, 0, indexers)
}

// run runs an informer until stop is called, and waits until it is idle.
func run(t *testing.T, informer cache.Controller) (stop func()) {
	end := testkit.InBackground(t, informer.RunWithContext)
	synctest.Wait()
	return func() { end(); synctest.Wait() }
}

// values returns the values of a reader by metric and labels, without the labels of the identity.
func values(t *testing.T, r *Reader) map[string]float64 {
	t.Helper()
	synctest.Wait()
	got := map[string]float64{}
	r.Read(func(s Sample) {
		name := strings.TrimPrefix(s.Metric.Name, "kinformer_")
		for _, l := range s.Series.Labels {
			if !slices.Contains([]string{"name", "group", "version", "resource", "watched_namespace", "server"}, l.Name) {
				name += " " + l.Value
			}
		}
		if s.Times != nil {
			s.Value = float64(s.Times.Count)
		}
		_, twice := got[name]
		require.False(t, twice, name)
		got[name] = s.Value
	})
	return got
}

// has compares some of the values of a reader, and returns all.
func has(t *testing.T, r *Reader, want map[string]float64) (got map[string]float64) {
	t.Helper()
	got = values(t, r)
	for name, value := range want {
		assert.Equal(t, value, got[name], name)
	}
	return got
}

// TestOrdinals: informers with the same name keep their ordinals while they run, and later ones
// reuse free ordinals.
func TestOrdinals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReader(Options{})
		var stops []func()
		start := func(pods ...*v1.Pod) {
			server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(), OnList: testkit.ListOf(testkit.PodList("5", pods...))}
			stops = append(stops, run(t, kinformer.New(server, &v1.Pod{}, kinformer.Options{})))
		}
		start()
		start(testkit.PodAt("a", "1"))
		has(t, r, map[string]float64{"informers": 2, "objects 0": 0, "objects 1": 1})
		stops[0]()
		got := has(t, r, map[string]float64{"objects 1": 1})
		assert.NotContains(t, got, "objects 0", "nothing of what has stopped")
		start()
		start()
		has(t, r, map[string]float64{"objects 0": 0, "objects 1": 1, "objects 2": 0})
		for _, stop := range stops[1:] {
			stop()
		}
		assert.Equal(t, map[string]float64{"informers": 0}, values(t, r))
		assert.Empty(t, r.mu.informers)
		assert.Empty(t, r.mu.ordinals)
	})
}

// TestClientGo: informers that are client-go's are counted, and have no other metrics.
func TestClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReader(Options{})
		stop := run(t, informerOf(nil, kinformer.Options{Engine: "client-go"}))
		assert.Equal(t, map[string]float64{"informers": 0, "client_go_informers": 1}, values(t, r))
		stop()
		assert.Equal(t, map[string]float64{"informers": 0}, values(t, r))
	})
}

// TestUnopenedWatches: a watch that the server does not open counts as an error.
func TestUnopenedWatches(t *testing.T) {
	testkit.Reports(t)
	for _, err := range []error{testkit.ErrForbidden, testkit.ErrRefused} {
		synctest.Test(t, func(t *testing.T) {
			server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(err), OnList: testkit.ListOf(testkit.PodList("5"))}
			defer run(t, kinformer.New(server, &v1.Pod{}, kinformer.Options{}))()
			time.Sleep(time.Minute)
			has(t, NewReader(Options{}), map[string]float64{"errors_total 0 watch": 1})
		})
	}
}

// TestIdentity: the labels of informers with and without an identity.
func TestIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, err := cache.NewInformerName("metrics-identity")
		require.NoError(t, err)
		defer name.Release()
		for _, option := range []kinformer.Options{{Identifier: name.WithResource(schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "pods"})}, {ObjectDescription: "the pods"}, {Requests: kinformer.Requests{ExpectedNamespace: "ns"}}} {
			defer run(t, informerOf(nil, option))()
		}
		var got []string
		NewReader(Options{}).Read(func(s Sample) {
			if s.Metric == objects {
				got = append(got, fmt.Sprint(s.Series.Labels))
			}
		})
		assert.Equal(t, []string{
			"[{group g} {name metrics-identity} {ordinal 0} {resource pods} {server } {version v1} {watched_namespace }]",
			"[{group } {name } {ordinal 0} {resource the pods} {server } {version } {watched_namespace }]",
			"[{group } {name } {ordinal 0} {resource *v1.Pod} {server } {version } {watched_namespace ns}]",
		}, got)
	})
}

// TestHandlers: handlers beyond the bound are summed as others, and the counts of a removed handler
// remain.
func TestHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := informerOf(nil, kinformer.Options{})
		add := func(name string) cache.ResourceEventHandlerRegistration {
			handle, err := informer.AddEventHandler(kinformer.Deliver(&testkit.Journal{On: func(string) { time.Sleep(20 * time.Millisecond) }}, kinformer.Delivery{Name: name}))
			require.NoError(t, err)
			return handle
		}
		removed := []cache.ResourceEventHandlerRegistration{add("a"), add("b"), add("c")}
		add("a")
		add("d")
		defer run(t, informer)()
		time.Sleep(time.Second)
		r := NewReader(Options{MaxHandlers: 2})
		got := values(t, r)
		for name, want := range map[string]float64{"a": 2, "b": 2, "other": 6} {
			assert.Equal(t, want, got["handler_calls_total "+name+" 0"], name)
			assert.Equal(t, want, got["handler_call_duration_seconds "+name+" 0"], name)
			assert.Equal(t, want/2, got["handler_state "+name+" 0 idle"], name)
		}
		assert.Equal(t, 5.0, got["handlers 0"])
		for _, handle := range removed {
			require.NoError(t, informer.RemoveEventHandler(handle))
		}
		// The counters do not go down.
		got = has(t, r, map[string]float64{"handlers 0": 2, "handler_calls_total other 0": 6, "handler_call_duration_seconds other 0": 6})
		assert.NotContains(t, got, "handler_calls_total b 0")
		add("b")
		time.Sleep(time.Second)
		has(t, r, map[string]float64{"handler_calls_total b 0": 4, "handler_call_duration_seconds b 0": 4}) // it goes on
	})
}

// TestTotals: counts by word of which some disappear do not go down.
func TestTotals(t *testing.T) {
	counts := totals{}
	assert.Equal(t, map[string]int64{"equal": 2}, counts.at(map[string]int64{"equal": 2}))
	assert.Equal(t, map[string]int64{"equal": 2}, counts.at(nil))
	assert.Equal(t, map[string]int64{"equal": 3, "failed": 1}, counts.at(map[string]int64{"equal": 1, "failed": 1}))
	assert.Equal(t, map[string]int64{"equal": 4, "failed": 1}, counts.at(map[string]int64{"equal": 2, "failed": 1}))
}

// TestIndices: indices with a bound, and indices whose function fails.
func TestIndices(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		fails := func(any) ([]string, error) { return nil, errors.New("no") }
		indexers := cache.Indexers{"a": fails, "e": fails}
		for _, name := range []string{"b", "c", "d"} {
			indexers[name] = func(any) ([]string, error) { return []string{name, "x"}, nil }
		}
		defer run(t, informerOf(indexers, kinformer.Options{}))()
		got := has(t, NewReader(Options{MaxIndices: 2}), map[string]float64{
			"index_failures_total a 0": 2, "index_lacking_objects a 0": 2, "index_members a 0": 0, "index_members b 0": 4, "index_values b 0": 2,
			"index_members other 0": 8, "index_failures_total other 0": 2, "degraded 0 index": 1, // once, though two indices lack objects
		})
		assert.Positive(t, got["index_bytes other 0"])
		assert.NotContains(t, got, "index_members c 0")
		has(t, NewReader(Options{MaxIndices: -1}), map[string]float64{"index_members other 0": 12})
	})
}

func TestLabelText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "short": "short", "\xff\xfe": "?", "a\xffb": "a?b",
		strings.Repeat("x", MaxText):       strings.Repeat("x", MaxText),
		strings.Repeat("x", MaxText+1):     strings.Repeat("x", MaxText-3) + "...",
		strings.Repeat("ä", MaxText):       strings.Repeat("ä", (MaxText-3)/2) + "...",
		strings.Repeat("\xff", 10*MaxText): "?",
	} {
		got := labelText(text)
		assert.Equal(t, want, got)
		assert.LessOrEqual(t, len(got), MaxText)
		assert.True(t, utf8.ValidString(got))
	}
}

// TestNothingIsKept: nothing of an informer that has stopped is retained, before and after the next
// Read.
func TestNothingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReader(Options{})
		pods := func() (of []weak.Pointer[v1.Pod]) {
			informer := informerOf(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, kinformer.Options{})
			stop := run(t, informer)
			require.Equal(t, 2.0, values(t, r)["objects 0"])
			for _, obj := range informer.GetStore().List() {
				of = append(of, weak.Make(obj.(*v1.Pod)))
			}
			stop()
			return of
		}()
		runtime.GC()
		for _, pod := range pods {
			assert.Nil(t, pod.Value())
		}
		assert.Equal(t, map[string]float64{"informers": 0}, values(t, r))
		runtime.KeepAlive(r)
	})
}

// TestCatalogue: names and kinds of the metrics agree.
func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	for _, m := range All() {
		assert.False(t, names[m.Name], "%s twice", m.Name)
		names[m.Name] = true
		assert.Equal(t, m.Kind == Counter, strings.HasSuffix(m.Name, "_total"), m.Name)
		base := strings.TrimSuffix(m.Name, "_total")
		assert.Equal(t, m.Unit == "s", strings.HasSuffix(base, "_seconds"), m.Name)
		assert.Equal(t, m.Unit == "By", strings.HasSuffix(base, "_bytes"), m.Name)
		assert.True(t, strings.HasSuffix(m.Help, "."), m.Name)
	}
	assert.Greater(t, len(names), 40)
}

// TestSources: an informer of several sources reports their number and their sums.
func TestSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, set := sources.New(&v1.Pod{}, kinformer.Options{})
		set.Put("a", cachetest.Of(testkit.PodAt("a", "1")))
		set.Put("b", cachetest.Of(testkit.PodAt("b", "1")))
		set.Put("nil", nil)
		defer run(t, informer)()
		r := NewReader(Options{})
		has(t, r, map[string]float64{"sources 0": 3, "sources_unsynced 0": 1, "objects 0": 2, "list_duration_seconds watch_list 0": 2})
		require.NoError(t, set.Remove("a"))
		require.NoError(t, set.Remove("nil"))
		got := has(t, r, map[string]float64{"sources 0": 1, "list_duration_seconds watch_list 0": 2}) // a counter does not go back
		assert.NotContains(t, got, "sources_unsynced 0", "there is none")
	})
}

// TestAuditsOfARemovedSource: the counters do not go down, and go on.
func TestAuditsOfARemovedSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, set := sources.New(&v1.Pod{}, kinformer.Options{})
		set.Put("a", cachetest.Of(testkit.Pod("a", "1")))
		set.Put("b", cachetest.Of(testkit.Pod("b", "1")))
		defer run(t, informer)()
		r := NewReader(Options{})
		audited := func(equal float64) {
			_, err := audit.Once(t.Context(), informer, audit.Options{})
			require.NoError(t, err)
			has(t, r, map[string]float64{"audits_total 0 equal": equal})
		}
		audited(2)
		require.NoError(t, set.Remove("b"))
		has(t, r, map[string]float64{"audits_total 0 equal": 2})
		audited(3)
	})
}

// TestAudits: the results of audits are exported after the first audit.
func TestAudits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := cachetest.Of(testkit.Pod("a", "1"), testkit.Pod("b", "1"))
		informer := cache.NewSharedIndexInformer(src, &v1.Pod{}, 0, nil)
		defer run(t, informer)()
		r := NewReader(Options{})
		assert.NotContains(t, values(t, r), "audit_differing_objects 0")
		_, err := audit.Once(t.Context(), informer, audit.Options{})
		require.NoError(t, err)
		got := has(t, r, map[string]float64{"audit_differing_objects 0": 0})
		assert.Contains(t, got, "audit_differing_objects 0")
		lost, _, _ := informer.GetStore().GetByKey("ns/a")
		require.NoError(t, informer.GetStore().Delete(lost))
		_, err = audit.Once(t.Context(), informer, audit.Options{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		has(t, r, map[string]float64{
			"audits_total 0 equal": 1, "audits_total 0 different": 1, "audit_findings_total missing 0": 1,
			"audit_differing_objects 0": 1, "audit_age_seconds 0": 60, "degraded 0 audit": 1,
		})
	})
}
