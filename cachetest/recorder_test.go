// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
)

func versioned(name, rv string) *corev1.Pod {
	p := pod(name)
	p.ResourceVersion = rv
	return p
}

func TestRecorderLines(t *testing.T) {
	var r cachetest.Recorder
	r.OnAdd(versioned("a", "2"), true)
	r.OnAdd(versioned("b", "3"), false)
	r.OnUpdate(versioned("a", "2"), versioned("a", "4"))
	r.OnDelete(versioned("a", "5"))
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/b", Obj: versioned("b", "3")})
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/c"})
	r.OnAdd("no object", false)
	require.Equal(t, `add default/a 2 initial
add default/b 3
update default/a 2 -> 4
delete default/a 5
delete default/b 3 unknown
delete default/c unknown
add string ?
`, r.String())
	require.Len(t, r.Take(), 7)
	require.Empty(t, r.Events())
	require.Empty(t, r.String())
}

func TestRecorderDescribes(t *testing.T) {
	r := cachetest.Recorder{Describe: func(obj any) string { return obj.(*corev1.Pod).Name }}
	r.OnAdd(pod("a"), false)
	r.OnUpdate(pod("a"), pod("b"))
	r.OnDelete(clientgo.DeletedFinalStateUnknown{Key: "default/b", Obj: pod("b")})
	require.Equal(t, []string{"add a", "update a -> b", "delete b unknown"}, r.Events())
}

func TestRecorderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r cachetest.Recorder
		go func() {
			<-time.After(time.Hour)
			r.OnAdd(pod("a"), false)
			<-time.After(time.Hour)
			r.OnAdd(pod("b"), false)
		}()
		start := time.Now()
		lines, err := r.Wait(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, lines, 2)
		require.Equal(t, 2*time.Hour, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.Wait(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "waited for 3 events, got 2 (add default/a , add default/b )")
	})
}
