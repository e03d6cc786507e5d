// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package clienttest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/adapters/client/clienttest"
	"github.com/kinformer/cache/cachetest"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func widget(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	u.SetNamespace("ns")
	u.SetName(name)
	return u
}

// newClient returns a client, and the sources of its pods and widgets.
func newClient(objects ...client.Object) (c client.WithWatch, pods, widgets *cachetest.Source) {
	pods, widgets = cachetest.Of(), cachetest.Of()
	return fake.NewClientBuilder().WithObjectTracker(clienttest.NewTracker(scheme.Scheme, map[client.Object]*cachetest.Source{
		&corev1.Pod{}: pods, widget(""): widgets,
	})).WithObjects(objects...).Build(), pods, widgets
}

// operations is a life of objects. Each function returns the object that the client has filled in.
var operations = []func(context.Context, client.Client) (client.Object, error){
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		p.Finalizers = []string{"example.com/f"}
		return p, c.Create(ctx, p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) { return nil, c.Create(ctx, pod("a")) },
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return nil, err
		}
		p.Labels, p.Status.Phase = map[string]string{"l": "1"}, corev1.PodFailed // the status is not written
		return p, c.Update(ctx, p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		p.ResourceVersion = "77777"
		return nil, c.Update(ctx, p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) { // without a version
		p := pod("a")
		p.Finalizers, p.Labels = []string{"example.com/f"}, map[string]string{"l": "2"}
		return p, c.Update(ctx, p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		p.Labels, p.Status.Phase = map[string]string{"l": "not written"}, corev1.PodRunning
		return p, c.Status().Update(ctx, p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		return p, c.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"m":"3"}},"status":{"phase":"Failed"}}`)))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		return p, c.Status().Patch(ctx, p, client.RawPatch("application/strategic-merge-patch+json", []byte(`{"status":{"reason":"r"}}`)))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		err := c.Delete(ctx, p)
		if err == nil {
			err = c.Get(ctx, client.ObjectKeyFromObject(p), p)
			if p.DeletionTimestamp == nil {
				return nil, fmt.Errorf("the finalizer keeps %v", p)
			}
			p.DeletionTimestamp = nil
		}
		return p, err
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("a")
		return nil, c.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) { return nil, c.Delete(ctx, pod("a")) },
	func(ctx context.Context, c client.Client) (client.Object, error) {
		return nil, c.Status().Update(ctx, pod("none"))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		return nil, c.Apply(ctx, corev1ac.Pod("b", "ns").WithLabels(map[string]string{"l": "1", "m": "1"}), client.FieldOwner("one"))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		return nil, c.Apply(ctx, corev1ac.Pod("b", "ns").WithLabels(map[string]string{"l": "2"}), client.FieldOwner("one"))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		return nil, c.Apply(ctx, corev1ac.Pod("b", "ns").WithLabels(map[string]string{"l": "3"}), client.FieldOwner("two"))
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		p := pod("b")
		return p, c.Get(ctx, client.ObjectKeyFromObject(p), p)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		w := widget("w")
		return w, c.Create(ctx, w)
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		w := widget("w")
		err := c.Get(ctx, client.ObjectKeyFromObject(w), w)
		w.Object["spec"] = map[string]any{"size": int64(1)}
		if err == nil {
			err = c.Update(ctx, w)
		}
		return w, err
	},
	func(ctx context.Context, c client.Client) (client.Object, error) {
		return nil, c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("ns"), client.MatchingLabels{"l": "2"})
	},
}

// TestLikeTheFakeClient: all operations have the same results as with the fake client's own tracker, but
// for versions, UIDs and times.
func TestLikeTheFakeClient(t *testing.T) {
	c, pods, _ := newClient()
	reference := fake.NewClientBuilder().Build()
	for i, operation := range operations {
		want, wantErr := operation(t.Context(), reference)
		got, err := operation(t.Context(), c)
		require.Equal(t, apierrors.ReasonForError(wantErr), apierrors.ReasonForError(err), "%d: %v and %v", i, wantErr, err)
		require.Equal(t, wantErr == nil, err == nil, "%d: %v and %v", i, wantErr, err)
		for _, obj := range []client.Object{want, got} {
			if obj != nil {
				obj.SetResourceVersion("")
				obj.SetUID("")
				obj.SetCreationTimestamp(metav1.Time{})
			}
		}
		require.Equal(t, want, got, "operation %d", i)
		var listed, wantListed corev1.PodList
		require.NoError(t, reference.List(t.Context(), &wantListed, client.InNamespace("ns")))
		require.NoError(t, c.List(t.Context(), &listed, client.InNamespace("ns")))
		require.Len(t, listed.Items, len(wantListed.Items), "operation %d", i)
		require.Len(t, pods.Versions(), len(listed.Items))
	}
}

// TestInformersReceiveWrites: a handler is called with the version that the client has returned.
func TestInformersReceiveWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pods, _ := newClient(pod("a"))
		informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, cache.Indexers{})
		var recorder cachetest.Recorder
		_, err := informer.AddEventHandler(pods.Track(&recorder))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go informer.RunWithContext(ctx)
		require.NoError(t, pods.Settle(ctx))
		pods.Tick() // another resource has been written

		p := pod("b")
		require.NoError(t, c.Create(ctx, p))
		require.Equal(t, "4", p.ResourceVersion)
		require.NotEmpty(t, p.UID)
		require.False(t, p.CreationTimestamp.IsZero())
		p.Status.Phase = corev1.PodRunning
		require.NoError(t, c.Status().Update(ctx, p))
		require.Equal(t, "5", p.ResourceVersion)
		require.NoError(t, c.Status().Update(ctx, p), "with the version of the write before")
		require.Equal(t, "5", p.ResourceVersion, "nothing has changed")
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		require.NoError(t, c.Update(ctx, p))
		require.Equal(t, "5", p.ResourceVersion, "stored pods have no kind")
		require.NoError(t, c.Delete(ctx, p))
		require.NoError(t, pods.Settle(ctx))
		synctest.Wait()
		require.Equal(t, []string{"add ns/a 2 initial", "add ns/b 4", "update ns/b 4 -> 5", "delete ns/b 6"}, recorder.Events())
		require.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())
		cancel()
		synctest.Wait()
	})
}

// TestStaleVersionsConflict: a write with an old version fails after a write of the test or of the client.
func TestStaleVersionsConflict(t *testing.T) {
	c, pods, _ := newClient(pod("a"))
	stale := pods.Get("ns", "a").(*corev1.Pod)
	cachetest.PatchAs(pods, "ns", "a", func(p *corev1.Pod) { p.Labels = map[string]string{"by": "test"} })
	require.True(t, apierrors.IsConflict(c.Status().Update(t.Context(), stale)))
	require.True(t, apierrors.IsConflict(c.Patch(t.Context(), stale.DeepCopy(), client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{}))))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(stale), stale))
	stale.Status.Phase = corev1.PodFailed
	require.NoError(t, c.Status().Update(t.Context(), stale))
	require.Equal(t, map[string]string{"by": "test"}, pods.Get("ns", "a").(*corev1.Pod).Labels)
}

// TestNoWriteIsLost: clients and the test count in one object at the same time.
func TestNoWriteIsLost(t *testing.T) {
	c, pods, _ := newClient(pod("a"))
	const writers, writes = 4, 50
	count := func(p *corev1.Pod) { p.Generation++ }
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range writes {
				cachetest.PatchAs(pods, "ns", "a", count)
			}
		})
		all.Go(func() {
			for range writes {
				if err := update(t.Context(), c, count); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2*writers*writes, pods.Get("ns", "a").(*corev1.Pod).Generation)
}

// update updates the pod, again after each conflict.
func update(ctx context.Context, c client.Client, change func(*corev1.Pod)) error {
	for {
		p := pod("a")
		if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		change(p)
		if err := c.Update(ctx, p); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// TestListsHaveOneVersion: a list beside a writer has no pod that is older than the version of another.
func TestListsHaveOneVersion(t *testing.T) {
	c, pods, _ := newClient(pod("a"), pod("b"))
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		for range 2000 { // b is never ahead of a
			for _, name := range []string{"a", "b"} {
				cachetest.PatchAs(pods, "ns", name, func(p *corev1.Pod) { p.Generation++ })
			}
		}
	})
	for generation := int64(0); generation < 2000; {
		var listed corev1.PodList
		require.NoError(t, c.List(t.Context(), &listed))
		generation = listed.Items[1].Generation
		require.LessOrEqual(t, generation, listed.Items[0].Generation)
	}
}

// TestNamespacesAndOtherTypes: lists and watches are of their namespace, errors name the resource, and types
// without a source are not installed.
func TestNamespacesAndOtherTypes(t *testing.T) {
	c, pods, _ := newClient(pod("a"))
	w, err := c.Watch(t.Context(), &corev1.PodList{}, client.InNamespace("ns"))
	require.NoError(t, err)
	defer w.Stop()
	pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "b"}})
	require.NoError(t, c.Create(t.Context(), pod("c")))
	event := <-w.ResultChan()
	require.Equal(t, "c", event.Object.(*corev1.Pod).Name)
	var listed corev1.PodList
	require.NoError(t, c.List(t.Context(), &listed, client.InNamespace("ns")))
	require.Len(t, listed.Items, 2)
	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	require.NoError(t, c.List(t.Context(), untyped))
	require.Len(t, untyped.Items, 3)

	require.ErrorContains(t, c.Delete(t.Context(), pod("none")), `pods "none" not found`)
	require.ErrorContains(t, c.Create(t.Context(), pod("c")), `pods "c" already exists`)
	require.True(t, meta.IsNoMatchError(c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}})))
	require.True(t, meta.IsNoMatchError(c.List(t.Context(), &corev1.ConfigMapList{})))
	mistyped := widget("w")
	mistyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	c = fake.NewClientBuilder().WithObjectTracker(clienttest.NewTracker(scheme.Scheme, map[client.Object]*cachetest.Source{
		&corev1.Pod{}: cachetest.Of(mistyped),
	})).Build()
	require.ErrorContains(t, c.Update(t.Context(), pod("w")), "the source has objects of type *unstructured.Unstructured")
	require.Panics(t, func() {
		clienttest.NewTracker(scheme.Scheme, map[client.Object]*cachetest.Source{&unstructured.Unstructured{}: pods})
	})
}

// TestReadFrom: Get and List read from the given reader, and writes go to the sources.
func TestReadFrom(t *testing.T) {
	stale, pods := fake.NewClientBuilder().WithObjects(pod("old")).Build(), cachetest.Of(pod("new"))
	c := fake.NewClientBuilder().
		WithObjectTracker(clienttest.NewTracker(scheme.Scheme, map[client.Object]*cachetest.Source{&corev1.Pod{}: pods})).
		WithInterceptorFuncs(clienttest.ReadFrom(stale)).Build()
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "old"}, &corev1.Pod{}))
	var listed corev1.PodList
	require.NoError(t, c.List(t.Context(), &listed))
	require.Len(t, listed.Items, 1)
	require.NoError(t, c.Delete(t.Context(), pod("new")))
	require.Empty(t, pods.Versions())
}
