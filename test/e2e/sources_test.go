// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// manyPods is pods in three namespaces.
type manyPods struct{ client kubernetes.Interface }

func newManyPods(t *testing.T, ctx context.Context, srv *apiserver.Server) manyPods {
	client, err := kubernetes.NewForConfig(srv.Config())
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "c"} {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return manyPods{client}
}

// write creates, relabels or deletes a pod.
func (p manyPods) write(ctx context.Context, name string, random *rand.Rand) error {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	pods := p.client.CoreV1().Pods(one("a", "b", "c"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": one("x", "y"), "owner": one("me", "you")}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	if random.IntN(8) == 0 {
		return pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
	_, err := pods.Update(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	}
	return err
}

// listed returns the selected pods.
func (p manyPods) listed(t *testing.T, ctx context.Context, selects func(*corev1.Pod) bool) checker.Contents {
	t.Helper()
	list, err := p.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	var selected []any
	for i := range list.Items {
		if selects(&list.Items[i]) {
			selected = append(selected, &list.Items[i])
		}
	}
	return checker.ContentsOf(selected)
}

// podsOf returns a lister and watcher of the selected pods in namespace, or in all if it is "".
func podsOf(t *testing.T, config *rest.Config, namespace, selector string) cache.ListerWatcher {
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "pods", namespace, func(o *metav1.ListOptions) { o.LabelSelector = selector })
}

// manySources is an informer of sources with a handler that maintains a replica.
type manySources struct {
	cache.SharedIndexInformer
	*sources.Set
	*followed
}

func newManySources(t *testing.T, m follow.Mode) manySources {
	mode := map[follow.Mode]kinformer.ListMode{follow.ListMode: kinformer.ListModeList, follow.WatchListMode: kinformer.ListModeWatchList}[m]
	informer, set := sources.New(&corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: mode}})
	f := &followed{SharedIndexInformer: informer}
	f.replica = checker.NewReplica(func(about, fault string) {
		if !strings.Contains(fault, ", deleted at ") { // an object may leave one source and return through another at the same version
			f.report(about, fault)
		}
	})
	f.replica.Unordered = true // the first state of a source is an initial list, whenever it arrives
	return manySources{informer, set, f}
}

// check waits until the informer has the server's state, and audits each source.
func (s manySources) check(t *testing.T, ctx context.Context, want checker.Contents) {
	t.Helper()
	require.NotEmpty(t, want)
	require.NoError(t, s.replica.AwaitEqual(ctx, want), "the handler's replica")
	assert.Equal(t, want, checker.ContentsOf(s.SharedIndexInformer.GetStore().List()), "the store")
	for name, source := range s.All() {
		report, err := audit.Once(ctx, source, audit.Options{Content: true})
		require.NoError(t, err, name)
		assert.True(t, report.Equal(), "%s: %v", name, report)
	}
	assert.Empty(t, s.faults.Take())
}

// TestSources checks that an informer of two namespaces and of two overlapping selectors has the
// server's state, while labels change, the permission for a namespace is withdrawn, sources are replaced
// and removed, the server is killed, and versions expire.
func TestSources(t *testing.T) {
	for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			ctx, srv := follow.StartServer(t, apiserver.Options{})
			pods, s := newManyPods(t, ctx, srv), newManySources(t, m)
			var permission, busy follow.Gate
			var held atomic.Bool
			busy.Refuse = func(*http.Request) int { return map[bool]int{true: 1}[held.Load()] }
			config, restricted := srv.ProtobufConfig(), srv.ProtobufConfig()
			config.Wrap(busy.Wrap)
			restricted.Wrap(permission.Wrap)
			s.Put("a", podsOf(t, config, "a", ""))
			s.Put("b", podsOf(t, restricted, "b", ""))
			s.Put("x", podsOf(t, config, "", "app=x"))
			s.Put("me", podsOf(t, config, "", "owner=me"))
			w := startWriters(ctx, 1, pods.write)
			require.NoError(t, w.awaitWrites(ctx, 200))
			s.followed.start(t)
			require.NoError(t, kinformer.WaitForSync(ctx, s.SharedIndexInformer))

			permission.Withdraw()
			require.NoError(t, until(ctx, func() bool { return forbidden(t, s.Source("b")) }))
			events := func() int { told, _ := s.replica.Notifications(); return told }
			before := events()
			require.NoError(t, until(ctx, func() bool { return events() > before+100 }), "the others go on")
			permission.Restore()

			s.Put("a", podsOf(t, config, "a", "app=y"))
			require.NoError(t, s.Remove("me"))
			require.NoError(t, w.awaitWrites(ctx, 100))
			restart(t, ctx, srv, func() { held.Store(true) }) // makes the other three fall behind
			require.NoError(t, w.awaitWrites(ctx, 100))
			_, err := srv.Compact(ctx)
			require.NoError(t, err)
			restart(t, ctx, srv)
			held.Store(false)
			s.Put("a", podsOf(t, config, "a", ""))
			s.Put("me", podsOf(t, config, "", "owner=me"))
			require.NoError(t, w.awaitWrites(ctx, 100))
			w.finish()
			s.check(t, ctx, pods.listed(t, ctx, func(p *corev1.Pod) bool {
				return p.Namespace != "c" || p.Labels["app"] == "x" || p.Labels["owner"] == "me"
			}))
			x, err := inspect.Of(s.Source("x"))
			require.NoError(t, err)
			assert.NotEmpty(t, x.Relists, "its version has expired")
		})
	}
}

// TestShards checks that four shards together have each pod once, with servers that shard and servers
// that do not, and so do the three shards that replace them.
func TestShards(t *testing.T) {
	for _, gate := range []bool{false, true} {
		for _, m := range []follow.Mode{follow.ListMode, follow.WatchListMode} {
			t.Run(fmt.Sprint(m, " gate ", gate), func(t *testing.T) {
				t.Parallel()
				ctx, srv := follow.StartServer(t, apiserver.Options{FeatureGates: fmt.Sprint("ShardedListAndWatch=", gate)})
				pods, s := newManyPods(t, ctx, srv), newManySources(t, m)
				divide := func(n int) {
					for i := range n {
						s.Put(fmt.Sprint(i), sources.Shard(podsOf(t, srv.ProtobufConfig(), "", ""), i, n))
					}
				}
				divide(4)
				w := startWriters(ctx, 1, pods.write)
				require.NoError(t, w.awaitWrites(ctx, 200))
				s.followed.start(t)
				require.NoError(t, kinformer.WaitForSync(ctx, s.SharedIndexInformer))
				require.NoError(t, w.awaitWrites(ctx, 200))
				divide(3)
				require.NoError(t, s.Remove("3"))
				require.NoError(t, w.awaitWrites(ctx, 200))
				w.finish()
				want := pods.listed(t, ctx, func(*corev1.Pod) bool { return true })
				s.check(t, ctx, want)
				total := 0
				for name, source := range s.All() {
					status, err := inspect.StatusOf(source)
					require.NoError(t, err)
					total += status.Objects
					assert.Positive(t, status.Objects, name)
					assert.Equal(t, !gate, slices.Contains(informers.Causes(status), "unsharded"), "%s: %s", name, status)
				}
				assert.Len(t, want, total)
			})
		}
	}
}
