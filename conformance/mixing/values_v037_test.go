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
	"k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
)

func TestOurInformerUnderTheirTypedViews(t *testing.T) {
	ctx := boundedContext(t)
	source := framework.NewFakeControllerSource()
	source.Add(pod("a"))
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, clientgo.Indexers{})
	background(t, ctx, informer.RunWithContext)
	events := make(chan any, 10)
	var typed coreinformers.PodIndexInformer = clientgo.NewTypedSharedIndexInformer[*corev1.Pod](informer)
	registration, err := typed.AddTypedEventHandler(coreinformers.PodHandlerFuncs{AddFunc: func(p *corev1.Pod) { events <- p }})
	require.NoError(t, err)
	assert.Equal(t, "a", receive(t, ctx, events).(*corev1.Pod).Name)
	require.NoError(t, clientgo.ShutDownEventHandler(informer, registration))
}
