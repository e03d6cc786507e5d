// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
)

// FuzzResourceVersions gives a store any resourceVersions: it takes all, never fails, and its own
// never goes back among those that can be compared.
func FuzzResourceVersions(f *testing.F) {
	for _, versions := range [][3]string{
		{"1", "2", "10"}, {"10", "9", ""}, {"0", "", "00"}, {"-1", "+1", "1e3"}, {"18446744073709551615", "18446744073709551616", "9"},
		{"340282366920938463463374607431768211456", "x", "٣"},
	} {
		f.Add(versions[0], versions[1], versions[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if order, err := resourceversion.CompareResourceVersion(a, b); err == nil {
			require.Equal(t, []string{b, a, a}[order+1], event.LaterVersion(a, b), "the greater one")
		} else {
			require.Equal(t, b, event.LaterVersion(a, b), "the one seen last")
		}
		s := cache.NewStore(cache.MetaNamespaceKeyFunc)
		require.NoError(t, s.Replace([]any{podOfVersion("a", a)}, a))
		require.Equal(t, a, s.LastStoreSyncResourceVersion())
		for i, step := range []func(){
			func() { require.NoError(t, s.Add(podOfVersion("b", b))) },
			func() { s.Bookmark(c) },
			func() { require.NoError(t, s.Update(podOfVersion("a", c))) },
			func() { require.NoError(t, s.Delete(podOfVersion("b", b))) },
		} {
			before := s.LastStoreSyncResourceVersion()
			step()
			order, err := resourceversion.CompareResourceVersion(before, s.LastStoreSyncResourceVersion())
			require.False(t, err == nil && order > 0, "step %d: from %q to %q", i, before, s.LastStoreSyncResourceVersion())
		}
		require.Equal(t, []string{"default/a"}, s.ListKeys())
	})
}

func podOfVersion(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}
