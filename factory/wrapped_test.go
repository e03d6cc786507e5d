// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache/factory"
)

func selectA(o *metav1.ListOptions) { o.LabelSelector = "app=a" }

// wrappedPods runs a wrapper until it has synced, and returns the keys of its pods, and what Wrap
// has logged.
func wrappedPods(t *testing.T, inner informers.SharedInformerFactory, options ...factory.Option) (keys, logged []string) {
	t.Helper()
	var f informers.SharedInformerFactory
	logged = processLog.about("factory.Wrap", func() { f = factory.Wrap(inner, options...) })
	informer := f.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(boundedContext(t))
	f.StartWithContext(ctx)
	synced := f.WaitForCacheSyncWithContext(ctx)
	cancel()
	f.Shutdown()
	require.NoError(t, synced.AsError())
	return informer.GetStore().ListKeys(), logged
}

func twoNamespaces() *fake.Clientset {
	return fake.NewClientset(pod("ns", "a"), pod("ns", "b"), pod("other", "a"))
}

func TestNamespaceOfTheWrappedFactory(t *testing.T) {
	limited := func() informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithNamespace("ns"))
	}
	all := []string{"ns/a", "ns/b", "other/a"}
	for name, tc := range map[string]struct {
		inner   informers.SharedInformerFactory
		options []factory.Option
		want    []string
	}{
		"is taken over":                  {limited(), nil, []string{"ns/a", "ns/b"}},
		"also by a wrapper's wrapper":    {factory.Wrap(limited()), nil, []string{"ns/a", "ns/b"}},
		"and what Wrap was told":         {factory.Wrap(informers.NewSharedInformerFactory(twoNamespaces(), 0), factory.WithNamespace("ns")), nil, []string{"ns/a", "ns/b"}},
		"unless another one is given":    {limited(), []factory.Option{factory.WithNamespace("other")}, []string{"other/a"}},
		"or all":                         {limited(), []factory.Option{factory.WithNamespace(metav1.NamespaceAll)}, all},
		"where there is none, it is all": {informers.NewSharedInformerFactory(twoNamespaces(), 0), nil, all},
	} {
		t.Run(name, func(t *testing.T) {
			keys, logged := wrappedPods(t, tc.inner, tc.options...)
			assert.ElementsMatch(t, tc.want, keys)
			assert.Empty(t, logged)
		})
	}
}

func TestTweakOfTheWrappedFactoryIsSaid(t *testing.T) {
	tweaking := func() informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithTweakListOptions(selectA))
	}
	all := []string{"ns/a", "ns/b", "other/a"}
	keys, logged := wrappedPods(t, tweaking())
	assert.ElementsMatch(t, all, keys)
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "factory.WithTweakListOptions")

	keys, logged = wrappedPods(t, tweaking(), factory.WithTweakListOptions(selectA))
	assert.ElementsMatch(t, []string{"ns/a", "other/a"}, keys)
	assert.Empty(t, logged)

	keys, logged = wrappedPods(t, tweaking(), factory.WithTweakListOptions(nil))
	assert.ElementsMatch(t, all, keys)
	assert.Empty(t, logged, "this is how to have it so")
}

// opaque is a factory of somebody else, whose accessors are not client-go's.
type opaque struct {
	informers.SharedInformerFactory
	group core.Interface
}

func (o opaque) Core() core.Interface { return o.group }

func TestWrapOfAFactoryThatCannotBeReadSaysSo(t *testing.T) {
	type otherFields struct {
		core.Interface
		namespace, tweakListOptions int
	}
	type noFields struct{ core.Interface }
	for name, group := range map[string]core.Interface{"no fields": noFields{}, "other fields": otherFields{nil, 1, 2}, "none": nil} {
		t.Run(name, func(t *testing.T) { testUnreadable(t, group) })
	}
}

func testUnreadable(t *testing.T, group core.Interface) {
	foreign := func() informers.SharedInformerFactory {
		return opaque{informers.NewSharedInformerFactoryWithOptions(twoNamespaces(), 0, informers.WithNamespace("ns")), group}
	}
	keys, logged := wrappedPods(t, foreign())
	assert.Len(t, keys, 3)
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "factory.WithNamespace")
	assert.Contains(t, logged[0], "factory.WithTweakListOptions")

	_, logged = wrappedPods(t, foreign(), factory.WithNamespace("ns"))
	require.Len(t, logged, 1, "the list options are not known")
	keys, logged = wrappedPods(t, foreign(), factory.WithNamespace("ns"), factory.WithTweakListOptions(nil))
	assert.Len(t, keys, 2)
	assert.Empty(t, logged)
}
