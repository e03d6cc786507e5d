// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinformerclient "github.com/kinformer/cache/adapters/client"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// rig is a cache of controller-runtime with the pods of a server, and a Reader of it.
type rig struct {
	*testing.T
	server *cachetest.Source
	cache  cache.Cache
	reader sortable
	stop   func() // ends the cache
}

type newInformer = func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer

var ours = kinformer.Constructor(kinformer.Options{})

// inBubble runs a test with a cache of 200 random pods, indexed by their nodes and phases.
func inBubble(t *testing.T, informers newInformer, test func(r *rig)) {
	withOptions(t, cache.Options{}, informers, test)
}

// withOptions runs a test with a cache as that of inBubble, with further options.
func withOptions(t *testing.T, options cache.Options, informers newInformer, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, server: randomPods()}
		options.Scheme, options.Mapper = scheme.Scheme, kindsAsDiscovered()
		options.NewInformer = func(_ clientgo.ListerWatcher, example runtime.Object, resync time.Duration, indexers clientgo.Indexers) clientgo.SharedIndexInformer {
			return informers(r.source(example), example, resync, indexers)
		}
		var err error
		r.cache, err = cache.New(&rest.Config{Host: "http://127.0.0.1:1"}, options)
		require.NoError(t, err)
		for field, of := range map[string]func(*corev1.Pod) string{
			"spec.nodeName": func(p *corev1.Pod) string { return p.Spec.NodeName },
			"status.phase":  func(p *corev1.Pod) string { return string(p.Status.Phase) },
		} {
			require.NoError(t, r.cache.IndexField(t.Context(), &corev1.Pod{}, field, func(o client.Object) []string {
				return []string{of(o.(*corev1.Pod))}
			}))
		}
		r.reader = sortable{kinformerclient.NewReader(r.cache, scheme.Scheme)}
		notStarted := ptr.To[*cache.ErrCacheNotStarted](nil)
		require.ErrorAs(t, r.reader.List(t.Context(), &corev1.PodList{}), notStarted)
		require.ErrorAs(t, r.reader.List(t.Context(), &corev1.PodList{}, byName, client.Limit(1)), notStarted)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.cache.Start(ctx) }()
		require.True(t, r.cache.WaitForCacheSync(ctx))
		r.stop = sync.OnceFunc(func() {
			cancel()
			require.NoError(t, <-ended)
		})
		test(r)
		r.stop()
	})
}

// kindsAsDiscovered returns a mapper with the kinds of the tests, and those of their lists, which
// the mapper of a real cache has as well.
func kindsAsDiscovered() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[string]meta.RESTScope{"Pod": meta.RESTScopeNamespace, "Node": meta.RESTScopeRoot} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), scope)
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind+"List"), scope)
	}
	return mapper
}

func randomPods() *cachetest.Source {
	server := cachetest.New(cachetest.Options{Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} }})
	random := rand.New(rand.NewPCG(40, 0))
	for i := range 200 {
		few := func(prefix string) string { return fmt.Sprint(prefix, random.IntN(4)) }
		server.Put(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: few("ns"), Name: fmt.Sprintf("p%03d", i), Labels: map[string]string{"app": few("a")}},
			Spec:       corev1.PodSpec{NodeName: few("n")}, Status: corev1.PodStatus{Phase: corev1.PodPhase(few("phase"))},
		})
	}
	return server
}

// source returns the server of the objects like example. Only pods have any.
func (r *rig) source(example runtime.Object) *cachetest.Source {
	switch example.(type) {
	case *corev1.Pod:
		return r.server
	case *corev1.Node:
		return cachetest.New(cachetest.Options{Example: example, NewList: func() runtime.Object { return &corev1.NodeList{} }})
	default:
		return cachetest.New(cachetest.Options{Example: example, NewList: func() runtime.Object { return &metav1.PartialObjectMetadataList{} }})
	}
}

// names lists pods page by page, and returns their names in the order of the pages.
func (r *rig) names(reader client.Reader, options ...client.ListOption) (names []string, pages int) {
	token := ""
	for {
		var pods corev1.PodList
		require.NoError(r, reader.List(r.Context(), &pods, append(slices.Clone(options), client.Continue(token))...))
		for _, pod := range pods.Items {
			require.Equal(r, "Pod", pod.Kind)
			names = append(names, pod.Name)
		}
		pages++
		if token = pods.Continue; token == "" || token == "continue-not-supported" {
			return names, pages
		}
	}
}

// TestListIsTheCaches: for queries that the cache supports, List returns the same objects in any
// order.
func TestListIsTheCaches(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		for _, options := range [][]client.ListOption{
			nil, {client.InNamespace("ns1")}, {client.InNamespace("none")}, {client.MatchingLabels{"app": "a1"}},
			{client.MatchingFields{"spec.nodeName": "n1"}},
			{client.MatchingFields{"spec.nodeName": "n1", "status.phase": "phase2"}, client.InNamespace("ns1")},
			{client.MatchingFields{"spec.nodeName": "n1", "status.phase": "phase2"}, client.MatchingLabels{"app": "a1"}},
			{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", "none")}},
		} {
			want, _ := r.names(r.cache, options...)
			slices.Sort(want)
			got, pages := r.names(r.reader, options...)
			require.Equal(r, 1, pages)
			slices.Sort(got)
			require.Equal(r, want, got)
			paged, pages := r.names(r.reader, append(slices.Clone(options), client.Limit(7))...)
			require.Equal(r, max(1, (len(want)+6)/7), pages)
			slices.Sort(paged)
			require.Equal(r, want, paged)
			sorted, _ := r.names(r.reader, append(slices.Clone(options), client.Limit(9), byName)...)
			slices.Reverse(sorted)
			require.Equal(r, want, sorted)
		}
	})
}

// What List promises.
const (
	keptFor = time.Minute
	maxKept = 64
)

// sortable lists in the order of an ordering among the options.
type sortable struct{ *kinformerclient.Reader }

type ordering func(a, b client.Object) int

func (ordering) ApplyToList(*client.ListOptions) {}

func (s sortable) List(ctx context.Context, out client.ObjectList, options ...client.ListOption) error {
	for i, option := range options {
		if order, is := option.(ordering); is {
			return s.Sorted(order).List(ctx, out, slices.Delete(slices.Clone(options), i, i+1)...)
		}
	}
	return s.Reader.List(ctx, out, options...)
}

// byName is the reverse order of names.
var byName ordering = func(a, b client.Object) int { return strings.Compare(b.GetName(), a.GetName()) }

// TestPagesAreOfOneSnapshot: all pages of a list are from one snapshot, whatever is written
// meanwhile, until the list is dropped.
func TestPagesAreOfOneSnapshot(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		all, _ := r.names(r.reader, client.Limit(1000))
		var pods corev1.PodList
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(150)))
		first := pods.Continue
		for _, pod := range pods.Items {
			r.server.Delete(pod.Namespace, pod.Name)
		}
		r.server.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns0", Name: "new"}})
		synctest.Wait()
		names := namesOf(&pods)
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(150), client.Continue(first)))
		require.Equal(r, all, append(names, namesOf(&pods)...))
		require.Empty(r, pods.Continue)
		require.Zero(r, r.snapshots())

		require.Contains(r, r.expires(r.reader, first, byName), "no longer kept", "the options do not matter then")
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(10)))
		require.Equal(r, 1, r.snapshots())
		time.Sleep(keptFor - time.Second)
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(10), client.Continue(pods.Continue)))
		time.Sleep(keptFor - time.Second)
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(10), client.Continue(pods.Continue)))
		time.Sleep(keptFor + time.Second)
		require.Zero(r, r.snapshots())
		require.Contains(r, r.expires(r.reader, pods.Continue), "no longer kept")
	})
}

func namesOf(pods *corev1.PodList) (names []string) {
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (r *rig) snapshots() int {
	informer, err := r.cache.GetInformer(r.Context(), &corev1.Pod{})
	require.NoError(r, err)
	figures, err := inspect.Of(informer)
	require.NoError(r, err)
	return figures.Snapshots.Open
}

// TestListsKept: if there are too many lists, the one that was unused for the longest time is dropped.
// The newest list is kept even if the clock does not advance.
func TestListsKept(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		var tokens []string
		for range maxKept + 1 {
			var pods corev1.PodList
			require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1)))
			tokens = append(tokens, pods.Continue)
			if len(tokens) > 1 { // the first is used again
				require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1), client.Continue(tokens[0])))
			}
			time.Sleep(time.Millisecond)
		}
		require.Equal(r, maxKept, r.snapshots())
		for i, token := range tokens {
			err := r.reader.List(r.Context(), &corev1.PodList{}, client.Limit(1), client.Continue(token))
			require.Equal(r, i == 1, apierrors.IsResourceExpired(err), "%d: %v", i, err)
		}
		time.Sleep(2 * keptFor)
		require.Zero(r, r.snapshots())

		for range 2 * maxKept {
			var pods corev1.PodList
			require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1)))
			require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1), client.Continue(pods.Continue)))
		}
		require.Equal(r, maxKept, r.snapshots())
		time.Sleep(2 * keptFor)
		require.Zero(r, r.snapshots())
	})
}

// TestListsInUse: a list exists while a request reads it, however long that takes, and for keptFor
// afterwards. A request that panics leaves the lists as they were.
func TestListsInUse(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		var during func()
		order := ordering(func(a, b client.Object) int {
			if do := during; do != nil {
				during = nil
				do()
			}
			return strings.Compare(a.GetName(), b.GetName())
		})
		page := func(token string) (corev1.PodList, error) {
			var pods corev1.PodList
			err := r.reader.List(r.Context(), &pods, client.Limit(1), order, client.Continue(token))
			return pods, err
		}
		panics := func() { panic("during a list") }
		during = panics
		require.Panics(r, func() { _, _ = page("") })
		require.Zero(r, r.snapshots())

		first, err := page("")
		require.NoError(r, err)
		during = panics
		require.Panics(r, func() { _, _ = page(first.Continue) })
		during = func() {
			time.Sleep(2 * keptFor)
			_, err := page(first.Continue)
			require.True(r, apierrors.IsResourceExpired(err), err)
		}
		second, err := page(first.Continue)
		require.NoError(r, err)
		time.Sleep(keptFor - 1)
		during = func() { // another request reads the last page
			var rest corev1.PodList
			require.NoError(r, r.reader.List(r.Context(), &rest, order, client.Continue(second.Continue)))
			require.Len(r, rest.Items, 198)
			require.Equal(r, 1, r.snapshots())
		}
		third, err := page(second.Continue)
		require.NoError(r, err)
		_, err = page(third.Continue)
		require.NoError(r, err)
		time.Sleep(keptFor)
		synctest.Wait()
		require.Zero(r, r.snapshots())
	})
}

// TestListRefused: requests that cannot be answered return errors.
func TestListRefused(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		var pods corev1.PodList
		err := r.reader.List(r.Context(), &pods, client.MatchingFields{"spec.serviceAccountName": "x"})
		require.ErrorContains(r, err, "the store has field:spec.nodeName, field:status.phase, namespace")
		err = r.reader.List(r.Context(), &pods, client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("spec.nodeName", "n1")})
		require.ErrorContains(r, err, "IndexField")
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1)))
		begun := pods.Continue
		require.Error(r, r.reader.List(r.Context(), &pods, client.Limit(1), client.Continue(begun), client.MatchingFields{"none": "x"}))
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1), client.Continue(begun)), "the failure was of one request")
		require.ErrorContains(r, r.reader.List(r.Context(), &pods, client.MatchingFieldsSelector{Selector: fields.Nothing()}), "no fields")
		require.Equal(r, 1, r.snapshots(), "of the one that goes on")
		time.Sleep(2 * keptFor)
	})
}

// TestCachesOfOthers: for other informers, or several of one kind, List and Get are the cache's.
// Options that the cache would ignore are refused, also for kinds without a namespace.
func TestCachesOfOthers(t *testing.T) {
	two := map[string]cache.Config{"ns0": {}, "ns1": {}}
	for name, c := range map[string]struct {
		options   cache.Options
		informers newInformer
		kinds     []client.ObjectList
	}{
		"of client-go":       {cache.Options{}, clientgo.NewSharedIndexInformer, []client.ObjectList{&corev1.PodList{}, &corev1.NodeList{}}},
		"DefaultNamespaces":  {cache.Options{DefaultNamespaces: two}, ours, []client.ObjectList{&corev1.PodList{}, &corev1.NodeList{}}},
		"one namespace":      {cache.Options{DefaultNamespaces: map[string]cache.Config{"ns1": {}}}, ours, []client.ObjectList{&corev1.PodList{}}},
		"and all namespaces": {cache.Options{DefaultNamespaces: map[string]cache.Config{"ns1": {}, cache.AllNamespaces: {}}}, ours, []client.ObjectList{&corev1.PodList{}}},
		"ByObject":           {cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Namespaces: two}}}, ours, []client.ObjectList{&corev1.PodList{}}},
	} {
		t.Run(name, func(t *testing.T) {
			withOptions(t, c.options, c.informers, func(r *rig) {
				for _, options := range [][]client.ListOption{nil, {client.MatchingFields{"spec.nodeName": "n1"}}, {client.InNamespace("ns1"), client.MatchingLabels{"app": "a1"}}} {
					names, _ := r.names(r.reader, options...)
					want, _ := r.names(r.cache, options...)
					slices.Sort(names)
					slices.Sort(want)
					require.Equal(r, want, names)
				}
				for _, list := range c.kinds {
					r.refusesOrder(list)
				}
			})
		})
	}
}

// refusesOrder checks that options that need an order are refused, and are named with the mend.
func (r *rig) refusesOrder(list client.ObjectList) {
	for name, options := range map[string][]client.ListOption{
		"Sorted": {byName}, "Limit": {client.Limit(5)}, "Continue": {client.Continue("continue-not-supported")},
	} {
		for _, more := range [][]client.ListOption{nil, {client.InNamespace("ns1")}, {&client.ListOptions{}}} {
			err := r.reader.List(r.Context(), list, append(slices.Clone(options), more...)...)
			require.ErrorIs(r, err, inspect.ErrForeign)
			require.ErrorContains(r, err, name+" needs one informer of this module for all objects of a "+fmt.Sprintf("%T", list))
			require.ErrorContains(r, err, "factory.Namespaces in place of DefaultNamespaces")
		}
	}
}

// TestMissingKinds: a cache that does not start informers for readers is not made to start them by
// an option that is refused.
func TestMissingKinds(t *testing.T) {
	for name, namespaces := range map[string]map[string]cache.Config{"all": nil, "two": {"ns0": {}, "ns1": {}}} {
		t.Run(name, func(t *testing.T) {
			withOptions(t, cache.Options{ReaderFailOnMissingInformer: true, DefaultNamespaces: namespaces}, ours, func(r *rig) {
				missing := &metav1.PartialObjectMetadataList{}
				missing.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
				for _, options := range [][]client.ListOption{nil, {byName}, {client.Limit(1)}, {client.Continue("x")}} {
					for range 2 {
						require.ErrorAs(r, r.reader.List(r.Context(), missing, options...), ptr.To[*cache.ErrResourceNotCached](nil))
					}
				}
			})
		})
	}
}

// TestCopies: returned objects are the caller's own, unless the options say otherwise.
func TestCopies(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		var pods corev1.PodList
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1)))
		one := &pods.Items[0]
		one.Labels["app"] = "written"
		var again corev1.Pod
		require.NoError(r, r.reader.Get(r.Context(), client.ObjectKeyFromObject(one), &again))
		require.NotEqual(r, "written", again.Labels["app"])
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(1), client.UnsafeDisableDeepCopy))
		require.Empty(r, pods.Items[0].Kind, "as it is cached")
		time.Sleep(2 * keptFor)
	})
}
