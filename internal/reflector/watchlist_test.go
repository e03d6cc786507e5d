// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/consistencydetector"

	"github.com/kinformer/cache/internal/testkit"
)

// streamed is watchedFor with a server that streams, and whose lists answer version 50.
func streamed(t *testing.T, change func(*Options), answers ...any) (asked, stored []string) {
	t.Helper()
	got := watchedFor(t, func(c *Options) {
		server := c.ListerWatcher.(*testkit.Server)
		server.NoStream, server.OnList = false, testkit.ListOf(testkit.PodList("50", testkit.PodAt("listed", "50")))
		change(c)
	}, answers...)
	assert.Empty(t, got.handled, "the handler hears of no failed watch-list")
	return got.asked, got.stored
}

// TestStreamOnlyIfAgreed: without a Mode, a watch-list needs the gate, at the time of construction, and
// the support of the ListerWatcher.
func TestStreamOnlyIfAgreed(t *testing.T) {
	for name, tc := range map[string]struct {
		gate bool
		mode Mode
		lw   clientgo.ListerWatcher
		want Phase
	}{
		"agreed":             {true, ByChoice, &testkit.Server{}, Streaming},
		"gate off":           {false, ByChoice, &testkit.Server{}, Listing},
		"denied":             {true, ByChoice, &testkit.Server{NoStream: true}, Listing},
		"says nothing":       {true, ByChoice, &clientgo.ListWatch{}, Streaming},
		"says nothing, off":  {false, ByChoice, &clientgo.ListWatch{}, Listing},
		"wrapped and denied": {true, ByChoice, clientgo.ToListWatcherWithWatchListSemantics(&clientgo.ListWatch{}, &testkit.Server{NoStream: true}), Listing},
		"asked for, off":     {false, ByWatchList, &testkit.Server{}, Streaming},
		"asked for a list":   {true, ByList, &testkit.Server{}, Listing},
	} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, tc.gate)
			r := New(Options{ListerWatcher: tc.lw, Mode: tc.mode, Sink: Foreign(&testkit.StoreLog{})})
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, !tc.gate)
			assert.Equal(t, tc.want, r.state.opening)
		})
	}
}

// TestStreamOfTheSameVersion: a watch that expires at the version of a stream that brought nothing newer is
// followed by a stream of the most recent state.
func TestStreamOfTheSameVersion(t *testing.T) {
	same := testkit.Sent(testkit.EndMark("5"), testkit.FailedWith(testkit.ErrExpired))
	again := testkit.Sent(testkit.EndMark("5"), testkit.FailedWith(testkit.ErrExpired))
	asked, _ := streamed(t, func(*Options) {}, same, again, testkit.Sent(testkit.EndMark("9")))
	assert.Equal(t, []string{"stream rv=", "stream rv=5", "stream rv="}, asked)
}

// TestStreamStops: each failed stream is stopped once, before the next request.
func TestStreamStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := testkit.NewScriptedWatch(1), testkit.NewScriptedWatch(1)
		first.Events <- testkit.FailedWith(testkit.ErrInternal)
		server := &testkit.Server{OnWatch: testkit.Watches(first, second), OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
			assert.Len(t, first.Stopped, 1)
			return testkit.PodList("50"), nil
		}}
		stop := testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})}).Run)
		synctest.Wait()
		stop()
		assert.Len(t, first.Stopped, 1)
		assert.Len(t, second.Stopped, 1)
	})
}

// TestStreamComparedWithList: client-go's consistency detector runs if it is enabled, and panics on
// a difference, except for dropped fields.
func TestStreamComparedWithList(t *testing.T) {
	defer consistencydetector.SetDataConsistencyDetectionForWatchListEnabledForTest(true)()
	managed := testkit.PodAt("a", "1")
	managed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "dropped"}}
	for name, listed := range map[string]*v1.Pod{"equal": testkit.PodAt("a", "1"), "different": testkit.PodAt("a", "2"), "dropped": managed} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked metav1.ListOptions
			server := &testkit.Server{
				OnList: func(_ int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
					asked = o
					return testkit.PodList("9", listed), nil
				},
				OnWatch: testkit.Watches(testkit.Sent(testkit.Added("a", "1"), testkit.EndMark("9"))),
			}
			store := &testkit.StoreLog{Fail: func(string) error { cancel(); return nil }}
			options := Options{ListerWatcher: server, Sink: Foreign(store)}
			require.Empty(t, options.Decoding.DropOf([]string{"metadata.managedFields"}))
			round := func() { assert.NoError(t, New(options).ListAndWatch(ctx)) }
			if name == "different" {
				assert.Panics(t, round)
			} else {
				round()
				assert.Equal(t, []string{"replace 9: a@1"}, store.Entries())
			}
			assert.Equal(t, metav1.ListOptions{ResourceVersion: "9", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, asked)
		})
	}
}
