// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRefusedHandlerLeavesTheResyncPeriod: who is not added does not have the others resynced more
// often.
func TestRefusedHandlerLeavesTheResyncPeriod(t *testing.T) {
	informer := NewSharedIndexInformer(testkit.NewPods(), &v1.Pod{}, time.Hour, nil).(*sharedIndexInformer)
	_, err := informer.AddEventHandlerWithResyncPeriod(Deliver(&testkit.Journal{}, Delivery{Max: -1}), time.Minute)
	require.ErrorIs(t, err, errBadDelivery)
	assert.Equal(t, time.Hour, informer.life.resyncCheckPeriod)
	_, err = informer.AddEventHandlerWithResyncPeriod(&testkit.Journal{}, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, time.Minute, informer.life.resyncCheckPeriod)
}

// TestStopNamesWhatThePolicyWaitsFor: also when the policy ends the informer.
func TestStopNamesWhatThePolicyWaitsFor(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "3"))), OnWatch: testkit.Watches(testkit.ErrForbidden)}
		release, lines := make(chan struct{}), &testkit.Logged{}
		queue := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
		c := New(&Config{Queue: queue, ListerWatcher: server, Process: func(any, bool) error { <-release; return nil }}).(*controller)
		c.options.Decide = decisionsBy(func(context.Context, error, int) ErrorDecision { return ErrorDecision{StopEvenIfSynced: true} })
		time.AfterFunc(time.Minute, func() { close(release) })
		c.RunWithContext(klog.NewContext(t.Context(), funcr.New(lines.Write, funcr.Options{})))
		assert.Equal(t, 1, lines.Count("Run waits until a call returns"))
	})
}

// TestScarcity: memory is scarce if there is a limit, and what is in use does not fit in twice.
func TestScarcity(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	assert.False(t, store.MemoryIsScarce())
	debug.SetMemoryLimit(1 << 50)
	assert.False(t, store.MemoryIsScarce())
	debug.SetMemoryLimit(1 << 20)
	assert.True(t, store.MemoryIsScarce())
}

// TestListSlotsAreSome: there is always one.
func TestListSlotsAreSome(t *testing.T) {
	assert.Equal(t, 1, cap(NewListSlots(0).free))
	assert.Equal(t, 3, cap(NewListSlots(3).free))
}

// TestPhasesAndModes: what a reflector calls its phases and modes is what a Status calls them.
func TestPhasesAndModes(t *testing.T) {
	for phase, want := range map[reflector.Phase]Phase{
		reflector.Unstarted: PhaseNew, reflector.Listing: PhaseListing, reflector.Streaming: PhaseStreaming, reflector.Watching: PhaseWatching, reflector.BackingOff: PhaseBackingOff, reflector.Stopped: PhaseStopped,
	} {
		assert.Equal(t, want, statusFrom(reflector.Status{Phase: phase}).Phase)
	}
	for mode, want := range map[reflector.Mode]ListMode{reflector.ByChoice: ListModeAuto, reflector.ByList: ListModeList, reflector.ByWatchList: ListModeWatchList} {
		assert.Equal(t, want, statusFrom(reflector.Status{Mode: mode}).Mode)
	}
}
