// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/kinformer"
)

// TestForeign: both holders of a factory share its informers. One that the factory had before Wrap, such
// as kube-scheduler's of pods, is kept, logged once and listed. With Take it is neither logged nor listed.
func TestForeign(t *testing.T) {
	inner := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	inner.Core().V1().Nodes().Informer()
	factory.Take(inner.InformerFor, &corev1.Pod{}, podsOf)
	f := factory.Wrap(inner)
	lines := logged(t, "of another package", func() {
		f.Core().V1().Nodes().Informer()
		f.Core().V1().Nodes().Lister()
		f.Core().V1().Pods().Informer()
		f.Core().V1().Services().Informer()
	})
	assert.Len(t, lines, 1)
	assert.True(t, isOurs(inner.Core().V1().Services().Informer()), "the old holder gets the informer that exists")
	assert.False(t, isOurs(f.Core().V1().Nodes().Informer()), "existing informers are kept")
	run(t, f)
	foreign := []reflect.Type{reflect.TypeFor[*corev1.Node]()}
	assert.Equal(t, foreign, factory.Foreign(f))
	assert.Equal(t, foreign, factory.Foreign(inner))
}

// TestWrapOfAWrapperKeepsItsOptions: a second Wrap takes over each option of the first, and those of its
// own apply instead.
func TestWrapOfAWrapperKeepsItsOptions(t *testing.T) {
	mark := func(value string) cache.TransformFunc {
		return func(obj any) (any, error) {
			obj.(*corev1.Pod).Annotations = map[string]string{"seen": value}
			return obj, nil
		}
	}
	tweak := func(app string) func(*metav1.ListOptions) {
		return func(o *metav1.ListOptions) { o.LabelSelector = "app=" + app }
	}
	index := func(name string) kinformer.Options {
		return kinformer.Options{Indexers: cache.Indexers{name: cache.MetaNamespaceIndexFunc}}
	}
	const indexOfInner, indexOfOuter = "inner", "outer"
	half := func(from, to string) sharding.Selector {
		return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.namespace", Start: from, End: to})
	}
	all, none := half("0x0000000000000000", "0xffffffffffffffff"), half("0x0000000000000000", "0x0000000000000001")
	var nsOnly factory.Namespaces
	nsOnly.Add("ns")
	type want struct {
		keys  []string
		seen  string
		index string
	}
	inner := []factory.Option{
		factory.WithNamespaces(&nsOnly), factory.WithTransform(mark("inner")), factory.WithTweakListOptions(tweak("a")),
		factory.WithInformerOptions(index(indexOfInner)), factory.WithShardSelector(all),
	}
	as := want{[]string{"ns/a"}, "inner", indexOfInner}
	with := func(change func(*want)) want {
		changed := as
		change(&changed)
		return changed
	}
	for name, c := range map[string]struct {
		outer []factory.Option
		want  want
	}{
		"all":       {nil, as},
		"namespace": {[]factory.Option{factory.WithNamespace("other")}, with(func(w *want) { w.keys = []string{"other/a"} })},
		"tweak":     {[]factory.Option{factory.WithTweakListOptions(tweak("b"))}, with(func(w *want) { w.keys = []string{"ns/b"} })},
		"no tweak":  {[]factory.Option{factory.WithTweakListOptions(nil)}, with(func(w *want) { w.keys = []string{"ns/a", "ns/b"} })},
		"transform": {[]factory.Option{factory.WithTransform(mark("outer"))}, with(func(w *want) { w.seen = "outer" })},
		"as it is":  {[]factory.Option{factory.WithTransform(nil)}, as},
		"options":   {[]factory.Option{factory.WithInformerOptions(index(indexOfOuter))}, with(func(w *want) { w.index = indexOfOuter })},
		"shard":     {[]factory.Option{factory.WithShardSelector(none)}, with(func(w *want) { w.keys, w.seen = []string{}, "" })},
	} {
		t.Run(name, func(t *testing.T) {
			var f informers.SharedInformerFactory
			lines := logged(t, "factory.Wrap", func() {
				f = factory.Wrap(factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), inner...), c.outer...)
			})
			assert.Empty(t, lines)
			informer := f.Core().V1().Pods().Informer()
			run(t, f)
			assert.ElementsMatch(t, c.want.keys, informer.GetStore().ListKeys())
			for _, obj := range informer.GetStore().List() {
				assert.Equal(t, c.want.seen, obj.(*corev1.Pod).Annotations["seen"])
			}
			assert.Contains(t, informer.GetIndexer().GetIndexers(), c.want.index)
			assert.Len(t, informer.GetIndexer().GetIndexers(), 2)
		})
	}
}

// TestWrapOfAWrapperKeepsItsFaults: informers of a second Wrap do not run if the options of the first are
// invalid, and the options of the second leave the first as it is.
func TestWrapOfAWrapperKeepsItsFaults(t *testing.T) {
	inner := factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), factory.WithNamespaces(nil))
	outer := factory.Wrap(inner, nil)
	pods, services := inner.Core().V1().Pods().Informer(), outer.Core().V1().Services().Informer()
	assert.NotContains(t, kinformer.WaitForSync(t.Context(), pods).Error(), "is nil")
	err := kinformer.WaitForSync(t.Context(), services)
	require.ErrorContains(t, err, "Namespaces of WithNamespaces are nil")
	require.ErrorContains(t, err, "option 1 of 1 is nil")
}
