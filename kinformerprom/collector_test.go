// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

var update = flag.Bool("update", false, "write testdata/exposition.txt")

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.RunTests(m)
}

// follow runs an informer until the test ends.
func follow(t testing.TB, server *testkit.Server, indexers cache.Indexers, setUp func(cache.SharedIndexInformer), options ...cache.Option) {
	t.Helper()
	informer := cache.InformerFunc(options...)(server, &corev1.Pod{}, 0, indexers)
	if setUp != nil {
		setUp(informer)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() { cancel(); group.Wait() })
}

func serving(pods ...*corev1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// handle adds a handler whose calls take that long.
func handle(t testing.TB, informer cache.SharedIndexInformer, name string, takes time.Duration) {
	_, err := informer.AddEventHandler(cache.Deliver(&testkit.Journal{On: func(string) { time.Sleep(takes) }}, cache.Delivery{Name: name}))
	require.NoError(t, err)
}

func registered(t testing.TB, collectors ...prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		require.NoError(t, registry.Register(c))
	}
	return registry
}

// exposition is what a registry shows.
func exposition(t testing.TB, registry prometheus.Gatherer) string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var text bytes.Buffer
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	return text.String()
}

// story runs informers that show nearly all that there is.
func story(t *testing.T) {
	name, err := cache.NewInformerName("golden")
	require.NoError(t, err)
	t.Cleanup(name.Release)
	w := testkit.NewScriptedWatch(9)
	server := serving()
	server.OnWatch = testkit.Watches(testkit.Sent(testkit.Bookmark("6"), testkit.Closed), testkit.ErrRefused, w)
	server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		time.Sleep(2 * time.Second)
		if n == 1 {
			return nil, testkit.ErrForbidden
		}
		return testkit.PodList("5", testkit.PodAt("a", "3"), testkit.PodIn("elsewhere", "b", "4")), nil
	}
	w.Events <- testkit.Added("c", "7")
	w.Events <- watch.Event{Type: watch.Added, Object: &corev1.Node{}}
	follow(t, server, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc, "broken": func(any) ([]string, error) { return nil, errors.New("no") },
	}, func(informer cache.SharedIndexInformer) {
		handle(t, informer, "quick", time.Millisecond)
		handle(t, informer, "stuck", time.Hour)
	}, cache.WithIdentifier(name.WithResource(corev1.SchemeGroupVersion.WithResource("pods")), nil),
		cache.WithBackoff(*testkit.Second()), cache.WithQueueLimit(100))
	synctest.Wait()
	for i := range 2 {
		follow(t, serving(testkit.PodAt("a", "1")), nil, func(informer cache.SharedIndexInformer) {
			for h := range 2 + i {
				handle(t, informer, fmt.Sprint("handler ", h), 0)
			}
		}, cache.WithObjectDescription("pods of a node"))
		synctest.Wait()
	}
	down := serving()
	down.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, testkit.ErrRefused }
	follow(t, down, nil, nil, cache.WithObjectDescription("unreachable"), cache.WithBackoff(*testkit.Second()))
}

// estimates are what differs from one version of Go, or of a type, to the next.
var estimates = regexp.MustCompile(`(?m)^(kinformer_(?:memory|index)_bytes{.*}) .*$`)

// TestExposition compares what is shown of a story with a file.
func TestExposition(t *testing.T) {
	const golden = "testdata/exposition.txt"
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{MaxHandlers: 2}))
		story(t)
		time.Sleep(30*time.Second + time.Millisecond)
		synctest.Wait()
		got := estimates.ReplaceAllString(exposition(t, registry), "$1 ESTIMATE")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
		time.Sleep(time.Hour) // so that the handler returns
	})
}

// TestLint: promlint finds nothing.
func TestLint(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{}), NewInformerMetrics())
		story(t)
		time.Sleep(30 * time.Second)
		problems, err := testutil.GatherAndLint(registry)
		require.NoError(t, err)
		assert.Empty(t, problems)
		time.Sleep(time.Hour)
	})
}

// TestHostileNames: whatever names say, the exposition can be read, and is bounded.
func TestHostileNames(t *testing.T) {
	testkit.Reports(t)
	hostile := []string{
		"", " ", "\xff\xfe", "a\xffb", "\x00\n\r\t\"\\{}", `"} 1` + "\n" + `kinformer_synced{x="`, "<script>alert(1)</script>", "other",
		strings.Repeat("é", 5000), strings.Repeat("\xff", 5000), strings.Repeat("é", 5000) + "2", "# HELP kinformer_synced x", "le", "quantile",
	}
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{}))
		for range 2 {
			for _, name := range hostile {
				indexers := cache.Indexers{}
				for _, index := range hostile {
					indexers[index] = func(any) ([]string, error) { return hostile, nil }
				}
				follow(t, serving(testkit.PodAt("a", "1")), indexers, func(informer cache.SharedIndexInformer) {
					for _, h := range hostile {
						handle(t, informer, h, 0)
					}
				}, cache.WithObjectDescription(name))
			}
		}
		synctest.Wait()
		families := parsed(t, exposition(t, registry))
		assert.Len(t, families["kinformer_synced"].Metric, 2*len(hostile))
		for name, family := range families {
			for _, m := range family.Metric {
				for _, l := range m.Label {
					assert.LessOrEqual(t, len(l.GetValue()), 128, "%s %s", name, l.GetName())
				}
			}
		}
	})
}

// parsed reads an exposition as Prometheus does.
func parsed(t testing.TB, text string) map[string]*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	return families
}
