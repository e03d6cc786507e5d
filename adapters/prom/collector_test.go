// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/metrics"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

var update = flag.Bool("update", false, "write testdata/exposition.txt")

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.RunTests(m)
}

// follow runs an informer until the test ends.
func follow(t *testing.T, server *testkit.Server, indexers cache.Indexers, setUp func(cache.SharedIndexInformer), o kinformer.Options) {
	t.Helper()
	informer := kinformer.Constructor(o)(server, &corev1.Pod{}, 0, indexers)
	if setUp != nil {
		setUp(informer)
	}
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
}

func serving(pods ...*corev1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// handle adds a handler whose calls take the given time.
func handle(t testing.TB, informer cache.SharedIndexInformer, name string, takes time.Duration) {
	_, err := informer.AddEventHandler(kinformer.Deliver(&testkit.Journal{On: func(string) { time.Sleep(takes) }}, kinformer.Delivery{Name: name}))
	require.NoError(t, err)
}

func registered(t testing.TB, collector prometheus.Collector) *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	return registry
}

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

// story runs informers that have nearly all metrics.
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
	}, kinformer.Options{Identifier: name.WithResource(corev1.SchemeGroupVersion.WithResource("pods")), Requests: kinformer.Requests{Backoff: *testkit.Second()}, Queue: kinformer.Queue{Limit: 100}})
	synctest.Wait()
	for i := range 2 {
		follow(t, serving(testkit.PodAt("a", "1")), nil, func(informer cache.SharedIndexInformer) {
			for h := range 2 + i {
				handle(t, informer, fmt.Sprint("handler ", h), 0)
			}
		}, kinformer.Options{ObjectDescription: "pods of a node"})
		synctest.Wait()
	}
	down := serving()
	down.OnList = func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, testkit.ErrRefused }
	follow(t, down, nil, nil, kinformer.Options{ObjectDescription: "unreachable", Requests: kinformer.Requests{Backoff: *testkit.Second()}})
}

// estimates matches values that depend on the version of Go or of a type.
var estimates = regexp.MustCompile(`(?m)^(kinformer_(?:memory|index)_bytes{.*}) .*$`)

// TestExposition compares the exposition of story with a file, in which promlint finds no problem.
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
		problems, err := testutil.GatherAndLint(registry)
		require.NoError(t, err)
		assert.Empty(t, problems)
		time.Sleep(time.Hour) // long enough for the handler to return
	})
}

// TestHostileNames: with any names, the exposition is valid, and its size is bounded.
func TestHostileNames(t *testing.T) {
	testkit.Reports(t)
	hostile := []string{
		"", " ", "\xff\xfe", "a\xffb", "\x00\n\r\t\"\\{}", `"} 1` + "\n" + `kinformer_synced{x="`, "<script>alert(1)</script>", "other",
		strings.Repeat("é", 5000), strings.Repeat("\xff", 5000), strings.Repeat("é", 5000) + "2", "# HELP kinformer_synced x", "le", "quantile",
	}
	var kept []string
	for i := range 3 {
		kept = append(kept, fmt.Sprintf("metadata.annotations[%s%d]", strings.Repeat("k", 60), i))
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
				}, kinformer.Options{ObjectDescription: name, Decoding: kinformer.Decoding{Keep: kept}})
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

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// TestInformerMetrics: informers of kinformer and of client-go have client-go's metrics, with the usual
// names, until their name is released.
func TestInformerMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewInformerMetrics()
		registry := registered(t, m)
		assert.Empty(t, exposition(t, registry))
		ours, err := cache.NewInformerName("ours")
		require.NoError(t, err)
		theirs, err := cache.NewInformerName("theirs")
		require.NoError(t, err)
		defer theirs.Release()
		identity := ours.WithResource(podResource)
		follow(t, serving(testkit.PodAt("a", "1")), nil, nil, kinformer.Options{Identifier: identity, InformerMetricsProvider: m})
		store := clientgo.NewThreadSafeStore(nil, nil, clientgo.WithThreadSafeStoreMetrics(theirs.WithResource(podResource), m))
		store.Replace(nil, "7")
		twice := m.NewQueuedItemMetric(theirs.WithResource(podResource))
		twice.Set(100) // belongs to another informer
		synctest.Wait()

		problems, err := testutil.GatherAndLint(registry)
		require.NoError(t, err)
		assert.Empty(t, problems)
		families := parsed(t, exposition(t, registry))
		assert.Len(t, families, 3)
		versions := families["informer_store_resource_version"].Metric
		require.Len(t, versions, 2)
		assert.Equal(t, 5.0, versions[0].GetGauge().GetValue())
		assert.Equal(t, 7.0, versions[1].GetGauge().GetValue())
		assert.Equal(t, "group", versions[0].Label[0].GetName())
		assert.Equal(t, "ours", versions[0].Label[1].GetValue())
		require.Len(t, families["informer_queued_items"].Metric, 1)
		assert.Equal(t, uint64(1), families["informer_processing_latency_seconds"].Metric[0].GetHistogram().GetSampleCount())

		ours.Release()
		m.NewQueuedItemMetric(identity).Set(1)
		m.NewProcessingLatencyMetric(identity).Observe(1)
		families = parsed(t, exposition(t, registry))
		require.Len(t, families, 1)
		assert.Len(t, families["informer_store_resource_version"].Metric, 1)
	})
}

// TestInformerMetricsOfAnotherLife: if a name is used again, its metrics start again.
func TestInformerMetricsOfAnotherLife(t *testing.T) {
	m := NewInformerMetrics()
	registry := registered(t, m)
	live := func() (cache.HistogramMetric, *cache.InformerName) {
		name, err := cache.NewInformerName("again")
		require.NoError(t, err)
		return m.NewProcessingLatencyMetric(name.WithResource(podResource)), name
	}
	before, name := live()
	before.Observe(1)
	name.Release()
	now, name := live()
	defer name.Release()
	before.Observe(1)
	now.Observe(1)
	assert.Equal(t, uint64(1), parsed(t, exposition(t, registry))["informer_processing_latency_seconds"].Metric[0].GetHistogram().GetSampleCount())
}

// dashboard has the fields of the dashboard that the tests use.
type dashboard struct {
	Panels     []struct{ Targets []struct{ Expr string } }
	Templating struct{ List []struct{ Definition string } }
}

func readDashboard(t *testing.T) (d dashboard) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

func (d dashboard) queries() (all []string) {
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// exported returns the names of the series that the collector exports, and their labels.
func exported() map[string][]string {
	names := map[string][]string{}
	for _, m := range metrics.All() {
		labels := m.Labels
		if !m.OfProcess {
			labels = append(labels, metrics.InformerLabels...)
		}
		names[m.Name] = labels
		switch m.Kind {
		case metrics.Histogram:
			delete(names, m.Name)
			names[m.Name+"_bucket"] = append(labels, "le")
			fallthrough
		case metrics.Summary:
			delete(names, m.Name)
			names[m.Name+"_sum"], names[m.Name+"_count"] = labels, labels
		}
	}
	return names
}

var (
	seriesNamed = regexp.MustCompile(`\b(?:kin|in)former_\w+`)
	selector    = regexp.MustCompile(`\b(kinformer_\w+)\{([^}]*)\}`)
	labelNamed  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
)

// TestNames: all series and labels in the dashboard and the rules exist in the collector.
func TestNames(t *testing.T) {
	names := exported()
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	d := readDashboard(t)
	asked := d.queries()
	for _, v := range d.Templating.List {
		asked = append(asked, v.Definition)
	}
	for _, expr := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(rules), -1) {
		asked = append(asked, expr[1])
	}
	count := 0
	for _, expr := range asked {
		for _, name := range seriesNamed.FindAllString(expr, -1) {
			assert.Contains(t, names, name, expr)
			count++
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			for _, label := range labelNamed.FindAllStringSubmatch(s[2], -1) {
				assert.Contains(t, append(names[s[1]], "job", "instance"), label[1], expr)
			}
		}
	}
	assert.Greater(t, count, 25)
	for _, name := range seriesNamed.FindAllString(string(rules), -1) { // including descriptions
		if _, histogram := names[name+"_bucket"]; !histogram {
			assert.Contains(t, names, name)
		}
	}
}

// promtool runs Prometheus' tool. Without it the test is skipped, but not in CI.
func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("KINFORMER_CI") != "" {
			t.Fatal("promtool is not installed: .ci/run installs it")
		}
		t.Skip("promtool is not installed: it comes with Prometheus, in Debian's package prometheus")
	}
	out, err := exec.Command(tool, arguments...).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// TestRules: promtool accepts the alert rules, and its tests of them pass.
func TestRules(t *testing.T) {
	promtool(t, "check", "rules", "rules.yml")
	promtool(t, "test", "rules", "rules_test.yml")
}

// TestEachRuleIsTested: the tests of the rules contain an input on which each alert fires.
func TestEachRuleIsTested(t *testing.T) {
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	tests, err := os.ReadFile("rules_test.yml")
	require.NoError(t, err)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	require.Len(t, alerts, 11)
	for _, alert := range alerts {
		assert.Regexp(t, `- alertname: `+alert[1]+`\n +eval_time: \w+\n +exp_alerts:`, string(tests))
	}
}

// TestQueries: promtool accepts the queries of the dashboard.
func TestQueries(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, expr := range readDashboard(t).queries() {
		expr = strings.ReplaceAll(expr, "$__rate_interval", "1m")
		fmt.Fprintf(&rules, "  - {record: 'query:%d', expr: %q}\n", i, expr)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, "check", "rules", "--lint-fatal", file)
}

func TestManyHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := registered(t, NewCollector(Options{}))
		indexers := cache.Indexers{}
		for i := range 50 {
			indexers[fmt.Sprint("index ", i)] = func(any) ([]string, error) { return []string{"x"}, nil }
		}
		var values []string
		for v := range 100_000 {
			values = append(values, fmt.Sprint(v))
		}
		indexers["values"] = func(any) ([]string, error) { return values, nil }
		follow(t, serving(&corev1.Pod{}), indexers, func(informer cache.SharedIndexInformer) {
			for h := range 10_000 {
				handle(t, informer, fmt.Sprint("handler ", h), 0)
			}
		}, kinformer.Options{})
		synctest.Wait()
		families := parsed(t, exposition(t, registry))
		for name, most := range map[string]int{
			"kinformer_handler_pending": 33, "kinformer_handler_call_duration_seconds": 33, "kinformer_handler_state": 66,
			"kinformer_index_members": 17, "kinformer_index_bytes": 17, "kinformer_handlers": 1,
		} {
			assert.LessOrEqual(t, len(families[name].GetMetric()), most, name)
		}
		pods := 0.0
		for _, m := range families["kinformer_handler_calls_total"].Metric {
			pods += m.GetCounter().GetValue()
		}
		assert.Equal(t, 10_000.0, pods)
		assert.Equal(t, 10_000.0, families["kinformer_handlers"].Metric[0].GetGauge().GetValue())
	})
}
