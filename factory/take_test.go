// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

func podsOf(c kubernetes.Interface, namespace string) typedcorev1.PodInterface {
	return c.CoreV1().Pods(namespace)
}

// TestTake: a factory has the informer that it took, its lister reads that informer's store, and the
// options apply.
func TestTake(t *testing.T) {
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"dropped": ""}}}
	}
	client := fake.NewClientset(pod("ns", "a"), pod("other", "b"))
	f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(any) (any, error) {
		return nil, errors.New("it is the factory's, and not that of the options")
	}))
	var tweaked atomic.Int64
	informer := factory.Take(f.InformerFor, &corev1.Pod{}, podsOf, factory.WithNamespace("ns"), factory.WithTransform(kinformer.TrimAnnotations("dropped")),
		factory.WithTweakListOptions(func(*metav1.ListOptions) { tweaked.Add(1) }),
		factory.WithInformerOptions(kinformer.Options{
			Requests: kinformer.Requests{Mode: kinformer.ListModeList},
			Indexers: cache.Indexers{"name": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Name}, nil }},
		}))
	assert.Same(t, informer, f.InformerFor(&corev1.Pod{}, nil))
	ctx, cancel := context.WithCancel(t.Context())
	f.StartWithContext(ctx)
	defer f.Shutdown()
	defer cancel()
	require.NoError(t, kinformer.WaitForSync(ctx, informer))
	got, err := f.Core().V1().Pods().Lister().Pods("ns").Get("a")
	require.NoError(t, err)
	assert.Equal(t, "a", got.Name)
	assert.Empty(t, got.Annotations)
	assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys(), "the namespace of the options")
	found, err := informer.GetIndexer().ByIndex("name", "a")
	require.NoError(t, err)
	assert.Len(t, found, 1)
	assert.Positive(t, tweaked.Load())
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, "ns", status.Namespace)
}

// TestTakeRefuses: with an option that Take does not support, the informer does not run.
func TestTakeRefuses(t *testing.T) {
	f := informers.NewSharedInformerFactory(fake.NewClientset(), time.Hour)
	name, err := cache.NewInformerName("take")
	require.NoError(t, err)
	defer name.Release()
	informer := factory.Take(f.InformerFor, &corev1.Pod{}, podsOf, factory.WithInformerName(name))
	require.ErrorContains(t, kinformer.WaitForSync(t.Context(), informer), "Identifier of WithInformerOptions")
}

// TestTakeTooLate: Take returns the informer that exists. The log warns, unless the informer is one of
// this module and no options are lost.
func TestTakeTooLate(t *testing.T) {
	option := factory.WithNamespace("ns")
	take := func(f informers.SharedInformerFactory, options ...factory.Option) []string {
		informer := f.InformerFor(&corev1.Pod{}, nil)
		return logged(t, "factory.Take have no effect", func() {
			assert.Same(t, informer, factory.Take(f.InformerFor, &corev1.Pod{}, podsOf, options...))
		})
	}
	theirs := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	theirs.Core().V1().Pods().Informer()
	for range 2 {
		lines := take(theirs, option)
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0], "of another package")
		assert.Contains(t, lines[0], `"type"="*v1.Pod"`)
		assert.Len(t, take(theirs), 1, "it is client-go's")
	}
	ours := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	ours.Core().V1().Pods().Informer()
	lines := take(ours, option)
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "with its own options")
	assert.Empty(t, take(ours))

	taken := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	assert.Empty(t, logged(t, "factory.Take", func() { factory.Take(taken.InformerFor, &corev1.Pod{}, podsOf, option) }))
	assert.Len(t, take(taken, option), 1)
}
