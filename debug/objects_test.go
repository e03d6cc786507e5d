// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

const hidden = "hunter2"

// everywhere are all that may be asked about an informer with an object ns/a and an index "i" of
// the value "v", in all forms.
func everywhere(t *testing.T, informer cache.Controller) (queries []string) {
	id := idOf(t, informer)
	for _, format := range []string{"", "&format=json", "&format=text"} {
		for _, query := range []string{"", id, id + "&keys", id + "&index=i&value=v", id + "&key=ns/a"} {
			queries = append(queries, query+format)
		}
	}
	return queries
}

// TestCountsOnly: without the option there are no keys, index values and objects, nor what
// functions of the program say.
func TestCountsOnly(t *testing.T) {
	testkit.Reports(t)
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.PodAt("a", "1")
		pod.Namespace, pod.Name = hidden, "a"
		pod.Spec.NodeName = hidden
		other := testkit.PodAt("b", "2")
		informer := follow(t, serving(pod, other, testkit.PodIn("elsewhere", "c", "3")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(any) ([]string, error) { return []string{hidden}, errors.New(hidden) }}))
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
				if obj.(*corev1.Pod).Name == "b" {
					return nil, errors.New(hidden)
				}
				return obj, nil
			}))
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic(hidden) }})
			require.NoError(t, err)
		}, cache.WithExpectedNamespace(hidden), cache.WithCachedOnTransformError())
		failing := follow(t, serving(other), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.SetTransform(func(any) (any, error) { return nil, errors.New(hidden) }))
		})
		strange := follow(t, serving(testkit.PodIn("elsewhere", "c", "3")), &corev1.Pod{}, nil, cache.WithExpectedNamespace(hidden))
		for _, informer := range []cache.Controller{informer, failing, strange} {
			for _, query := range everywhere(t, informer) {
				answer := get(Handler(Options{}), query)
				assert.NotContains(t, answer.Body.String(), hidden, query)
				assert.NotContains(t, answer.Body.String(), "elsewhere", query)
			}
			assert.Contains(t, get(Handler(Options{Objects: true}), idOf(t, informer)).Body.String(), hidden, "the test hides something")
		}
		for _, query := range []string{"&keys", "&index=i&value=v", "&key=ns/a"} {
			assert.Equal(t, http.StatusForbidden, get(Handler(Options{}), idOf(t, informer)+query).Code)
		}
	})
}

// TestObjects: with the option there are keys and objects, without what only repeats them.
func TestObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.PodAt("a", "1")
		pod.Labels = map[string]string{"l": "<b>"}
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: hidden}}
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": hidden, "kept": "yes"}
		informer := follow(t, serving(pod, testkit.PodAt("b", "2")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Name}, nil }}))
		})
		h, id := Handler(Options{Objects: true}), idOf(t, informer)
		assert.ElementsMatch(t, []string{"ns/a", "ns/b"}, decoded[keysView](t, get(h, id+"&keys&format=json")).Keys)
		assert.Equal(t, "ns/b\n", get(h, id+"&index=i&value=b&format=text").Body.String())
		assert.Contains(t, get(h, id+"&index=i&value=b").Body.String(), `href="?`+id+`&amp;key=ns%2fb"`)
		assert.Empty(t, decoded[keysView](t, get(h, id+"&index=i&value=c&format=json")).Keys)
		assert.Equal(t, http.StatusNotFound, get(h, id+"&index=j&value=c").Code)
		assert.Equal(t, http.StatusNotFound, get(h, id+"&key=ns/c").Code)

		page := get(h, id+"&key=ns/a").Body.String()
		assert.Contains(t, page, "&#34;kept&#34;: &#34;yes&#34;")
		assert.NotContains(t, page, "<b>")
		assert.NotContains(t, page, hidden)
		got := decoded[objectView](t, get(h, id+"&key=ns/a&format=json"))
		assert.Equal(t, "1", got.ResourceVersion)
		assert.Contains(t, string(got.Object), `"name": "a"`)
		assert.NotContains(t, string(got.Object), hidden)
	})
}

// TestSecrets: no way leads to what is in one, whatever type or informer it has.
func TestSecrets(t *testing.T) {
	content := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "namespace": "ns", "annotations": map[string]any{"x": hidden}},
			"data": map[string]any{"password": hidden},
		}}
	}
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "a", Annotations: map[string]string{"x": hidden}}
	secretMeta := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	secretMeta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for name, tc := range map[string]struct {
		object  runtime.Object
		example runtime.Object
		options []cache.Option
	}{
		"typed":             {&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"p": hidden}}, &corev1.Secret{}, nil},
		"among others":      {&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"p": hidden}}, nil, nil},
		"unstructured":      {content("Secret"), content("Secret"), nil},
		"unstructured only": {content("Secret"), nil, nil},
		"of another group":  {content("SealedSecret"), nil, nil},
		"by the resource":   {content(""), nil, []cache.Option{cache.WithObjectDescription("secrets.v1")}},
		"metadata":          {secretMeta, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				informer := follow(t, serving(tc.object), tc.example, func(informer cache.SharedIndexInformer) {
					require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(any) ([]string, error) { return []string{"v"}, nil }}))
				}, tc.options...)
				h := Handler(Options{Objects: true})
				require.Len(t, informer.GetStore().ListKeys(), 1)
				for _, query := range everywhere(t, informer) {
					assert.NotContains(t, get(h, query).Body.String(), hidden, query)
				}
				assert.Contains(t, get(h, idOf(t, informer)+"&key=ns/a").Body.String(), "not shown")
			})
		})
	}
}

// odd is an object that cannot be written as JSON.
type odd struct {
	corev1.Pod
	Fails any
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

func (o *odd) DeepCopyObject() runtime.Object { return o }

// TestOddObjects: what cannot be shown costs nothing but an answer that says so.
func TestOddObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := testkit.PodAt("large", "1")
		large.Labels = map[string]string{"x": string(make([]byte, mostObject))}
		informer := follow(t, serving(large, &odd{Pod: *testkit.PodAt("panics", "1"), Fails: panics{}},
			&odd{Pod: *testkit.PodAt("fails", "1"), Fails: func() {}}), nil, nil)
		for key, want := range map[string]string{"ns/large": "too large", "ns/panics": "panicked", "ns/fails": "unsupported type"} {
			page := get(Handler(Options{Objects: true}), idOf(t, informer)+"&key="+url.QueryEscape(key)).Body.String()
			assert.Contains(t, page, want)
		}
	})
}

// TestManyHandlers: few of them are shown, those first that matter.
func TestManyHandlers(t *testing.T) {
	testkit.AtNight(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		informer := follow(t, serving(testkit.PodAt("a", "1")), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			for i := range 10_000 {
				var f cache.ResourceEventHandlerFuncs
				if i == 7777 {
					f.AddFunc = func(any) { <-release }
				}
				_, err := informer.AddEventHandler(cache.Deliver(f, cache.Delivery{Name: fmt.Sprint("handler-", i)}))
				require.NoError(t, err)
			}
		})
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assert.Less(t, get(h, query).Body.Len(), 100_000, query)
		}
		view := decoded[informerView](t, get(h, idOf(t, informer)+"&format=json"))
		assert.Len(t, view.HandlerViews, mostHandlers)
		assert.Equal(t, 10_000-mostHandlers, view.HandlersOmitted)
		assert.Equal(t, "handler-7777", view.HandlerViews[0].Name, "the one that is behind")
	})
}

// TestManyIndexValues: nor does what is shown grow with objects, values and indices.
func TestManyIndexValues(t *testing.T) {
	testkit.AtNight(t)
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		var objects []runtime.Object
		for i := range n {
			objects = append(objects, testkit.PodAt(fmt.Sprint("pod-", i), "1"))
		}
		informer := follow(t, serving(objects...), &corev1.Pod{}, func(informer cache.SharedIndexInformer) {
			indexers := cache.Indexers{
				"i":    func(any) ([]string, error) { return []string{"v"}, nil },
				"name": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Name}, nil },
			}
			for i := range mostIndices {
				indexers[fmt.Sprint("z", i)] = func(any) ([]string, error) { return nil, nil }
			}
			require.NoError(t, informer.AddIndexers(indexers))
		})
		h := Handler(Options{Objects: true})
		for _, query := range everywhere(t, informer) {
			assert.Less(t, get(h, query).Body.Len(), 60_000, query)
		}
		view := decoded[informerView](t, get(h, idOf(t, informer)+"&format=json"))
		require.Len(t, view.Indices, mostIndices)
		assert.Equal(t, 2, view.IndicesOmitted)
		assert.Equal(t, n, view.Indices[0].Members)
		assert.InEpsilon(t, n, view.Indices[1].Values, 0.3)
		for _, query := range []string{"&keys", "&index=i&value=v"} {
			keys := decoded[keysView](t, get(h, idOf(t, informer)+query+"&format=json"))
			assert.Len(t, keys.Keys, mostKeys)
			assert.True(t, keys.More)
		}
	})
}

// TestManyInformers: the table has some of them, and says where the others are.
func TestManyInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = mostRows + 3
		for i := range n {
			follow(t, serving(), &corev1.Pod{}, nil, cache.WithObjectDescription(fmt.Sprint("informer-", i)))
		}
		h := Handler(Options{})
		first := decoded[tableView](t, get(h, "format=json"))
		assert.Equal(t, n, first.Running)
		assert.Len(t, first.Informers, mostRows)
		assert.Equal(t, 3, first.Omitted)
		assert.Contains(t, get(h, "").Body.String(), fmt.Sprintf(`<a href="?from=%d">3 more</a>`, mostRows))
		rest := decoded[tableView](t, get(h, fmt.Sprintf("from=%d&format=json", mostRows)))
		require.Len(t, rest.Informers, 3)
		assert.Equal(t, fmt.Sprint("informer-", n-1), rest.Informers[2].Name)
		for _, from := range []string{"-5", "x", "99999999999999999999"} {
			assert.Equal(t, http.StatusOK, get(h, "from="+from).Code)
		}
		assert.Empty(t, decoded[tableView](t, get(h, "from=999999&format=json")).Informers)
		for _, r := range rest.Informers {
			assert.Contains(t, get(h, fmt.Sprint("id=", r.ID)).Body.String(), "<h1>"+r.Name)
		}
	})
}
