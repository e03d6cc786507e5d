// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// ownInformer is all that an informer of ours has.
type ownInformer interface {
	cache.SharedIndexInformer
	HasStarted() bool
	EventHandlerCount() int
	IsRegistered(handle cache.ResourceEventHandlerRegistration) bool
}

// bubble is an informer on a fake source inside a synctest bubble.
type bubble struct {
	*testing.T
	source   *framework.FakeControllerSource
	informer ownInformer
	stop     context.CancelFunc
}

// inBubble runs test with an informer that is not started yet, and stops it in the end.
func inBubble(t *testing.T, options cache.SharedIndexInformerOptions, test func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		source := framework.NewFakeControllerSource()
		b := &bubble{T: t, source: source, stop: func() {}}
		b.informer = cache.NewSharedIndexInformerWithOptions(source, &corev1.Pod{}, options).(ownInformer)
		test(b)
		b.stop()
		synctest.Wait() // a source that is shut down holds up whoever asks it for ever
		source.Shutdown()
		synctest.Wait()
	})
}

func (b *bubble) start() {
	ctx, cancel := context.WithCancel(b.Context())
	b.stop = cancel
	go b.informer.RunWithContext(ctx)
	synctest.Wait()
}

func (b *bubble) handle(handler cache.ResourceEventHandler) cache.ResourceEventHandlerRegistration {
	registration, err := b.informer.AddEventHandler(handler)
	require.NoError(b, err)
	return registration
}

// TestMutationDetector runs itself again, because client-go reads the environment when it starts.
func TestMutationDetector(t *testing.T) {
	if os.Getenv("KUBE_CACHE_MUTATION_DETECTOR") == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutationDetector$", "-test.v")
		again.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=true")
		out, err := again.CombinedOutput()
		require.Error(t, err, "a changed object must crash the process")
		require.Contains(t, string(out), "ALTERED")
		require.Contains(t, string(out), `"oneOf"=["the writer of *v1.Pod"]`, "who may have been it")
		return
	}
	source := framework.NewFakeControllerSource()
	source.Add(testkit.Pod("a", "1"))
	informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, nil)
	writer := cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { obj.(*corev1.Pod).Labels["v"] = "changed" }}
	_, err := informer.AddEventHandler(cache.Deliver(writer, cache.Delivery{Name: "the writer"}))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience) // it crashes within seconds
	defer cancel()
	informer.RunWithContext(ctx)
}
