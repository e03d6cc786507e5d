// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
)

// What the package documentation says about the size of answers.
const (
	mostPage = 2 << 20
	mostJSON = 8 << 20
)

// bloated are texts that are longest when they are escaped.
func bloated(n int) string { return fmt.Sprint(n) + bloat }

var bloat = "\"><script>alert('" + strings.Repeat("\"<", 2000)

// huge sets up an informer of a thousand objects with a million index values, ten thousand handlers
// and as many indices as are shown, one of which is stuck until release is closed.
func huge(tb testing.TB, release <-chan struct{}) func(cache.SharedIndexInformer) {
	return func(informer cache.SharedIndexInformer) {
		indexers := cache.Indexers{"million": func(obj any) (values []string, err error) {
			for i := range 1000 {
				values = append(values, fmt.Sprintf("%s-%d", obj.(*corev1.Pod).Name, i))
			}
			return values, nil
		}}
		for i := range mostReasons + 1 {
			indexers[bloated(i)] = failingOnce(i)
		}
		require.NoError(tb, informer.AddIndexers(indexers))
		for i := range 10_000 {
			var f cache.ResourceEventHandlerFuncs
			if i == 7777 {
				f.AddFunc = func(any) { <-release }
			}
			_, err := informer.AddEventHandler(cache.Deliver(f, cache.Delivery{Name: bloated(i)}))
			require.NoError(tb, err)
		}
	}
}

// failingOnce makes an index function that fails for one pod.
func failingOnce(n int) func(any) ([]string, error) {
	return func(obj any) ([]string, error) {
		if obj.(*corev1.Pod).Name == "pod-0" {
			return nil, errors.New(bloated(n))
		}
		return nil, nil
	}
}

func thousandPods() (pods []apiruntime.Object) {
	for i := range 1000 {
		pods = append(pods, testkit.PodAt(fmt.Sprint("pod-", i), "1"))
	}
	return pods
}

// TestHugeInformer: answers stay below their bounds, say what they leave out, and show what is
// wrong.
func TestHugeInformer(t *testing.T) {
	testkit.AtNight(t)
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		informer := follow(t, serving(thousandPods()...), &corev1.Pod{}, huge(t, release))
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assertBounded(t, h, query)
		}
		inspection, err := inspect.Of(informer)
		require.NoError(t, err)
		assert.InEpsilon(t, 1_000_000, inspection.Indices[len(inspection.Indices)-1].Values, 0.3)
		page := get(h, idOf(t, informer)).Body.String()
		for _, text := range []string{"And 9900 that are less behind.", "And 2 more.", "<li>and 1 more</li>", "7777&#34;&gt;&lt;script&gt;"} {
			assert.Contains(t, page, text)
		}
		view := decoded[informerView](t, get(h, idOf(t, informer)+"&format=json"))
		assert.Equal(t, bloated(7777)[:mostText]+"…", view.HandlerViews[0].Name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		get(h, idOf(t, informer))
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "nothing is made for each index value, and little for each handler")
	})
}

// TestHugeTable: the same for the table, when all that it shows is as long as can be.
func TestHugeTable(t *testing.T) {
	testkit.AtNight(t)
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		for i := range mostRows + 1 {
			server := serving(testkit.PodAt("pod-0", "1"))
			if i%2 == 0 {
				server.OnList = func(int, context.Context, metav1.ListOptions) (apiruntime.Object, error) {
					return nil, errors.New(bloated(i))
				}
			}
			follow(t, server, &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
				indexers := cache.Indexers{}
				for n := range 10 {
					indexers[bloated(n)] = failingOnce(n)
				}
				require.NoError(t, informer.AddIndexers(indexers))
			}, cache.WithObjectDescription(bloated(i)))
		}
		h := Handler(Options{Objects: true})
		for _, format := range []string{"", "format=json", "format=text"} {
			assertBounded(t, h, format)
		}
		table := decoded[tableView](t, get(h, "format=json"))
		assert.Equal(t, 1, table.Omitted)
		assert.Equal(t, "and 7 more", table.Informers[1].Degraded[mostInRow])
	})
}

// TestHugeKeys: nor do keys make a page longer that no object of a server has.
func TestHugeKeys(t *testing.T) {
	testkit.AtNight(t)
	synctest.Test(t, func(t *testing.T) {
		var objects []apiruntime.Object
		for i := range mostKeys + 1 {
			objects = append(objects, testkit.PodAt(bloated(i), "1"))
		}
		informer := follow(t, serving(objects...), &corev1.Pod{}, nil)
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assertBounded(t, h, query)
		}
		assert.Len(t, decoded[keysView](t, get(h, idOf(t, informer)+"&keys&format=json")).Keys, mostKeys)
	})
}

func assertBounded(t *testing.T, h http.Handler, query string) {
	t.Helper()
	most := mostPage
	if strings.Contains(query, "format=json") {
		most = mostJSON
	}
	assert.Less(t, get(h, query).Body.Len(), most, query)
}
