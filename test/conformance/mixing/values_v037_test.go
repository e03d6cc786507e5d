// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package mixing

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

func TestOurInformerUnderTheirTypedViews(t *testing.T) {
	ctx := boundedContext(t)
	informer := cache.NewSharedIndexInformer(cachetest.Of(testkit.Pod("a", "1")), &corev1.Pod{}, 0, clientgo.Indexers{})
	defer testkit.InBackground(t, informer.RunWithContext)()
	events := make(chan any, 10)
	var typed coreinformers.PodIndexInformer = clientgo.NewTypedSharedIndexInformer[*corev1.Pod](informer)
	registration, err := typed.AddTypedEventHandler(coreinformers.PodHandlerFuncs{AddFunc: func(p *corev1.Pod) { events <- p }})
	require.NoError(t, err)
	assert.Equal(t, "a", receive(t, ctx, events).(*corev1.Pod).Name)
	require.NoError(t, clientgo.ShutDownEventHandler(informer, registration))
}
