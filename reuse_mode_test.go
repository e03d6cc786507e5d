// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// sealed is a pod with a UID and content.
func sealed(name, version, content string) *v1.Pod {
	pod := testkit.PodAt(name, version)
	pod.UID, pod.Annotations = types.UID("uid-"+name), map[string]string{"content": content}
	return pod
}

// TestReuse: what a relist leaves in the store, and what handlers hear of it.
func TestReuse(t *testing.T) {
	blank := func(pod *v1.Pod, clear func(*v1.Pod)) *v1.Pod {
		clear(pod)
		return pod
	}
	noUID, noVersion := func(p *v1.Pod) { p.UID = "" }, func(p *v1.Pod) { p.ResourceVersion = "" }
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	limits := map[bool]int64{true: 1 << 20, false: math.MaxInt64}
	for name, test := range map[string]struct {
		scarce        bool // memory is
		first, second *v1.Pod
		kept          bool
	}{
		"identical":              {true, sealed("a", "1", "x"), sealed("a", "1", "x"), true},
		"no scarcity":            {false, sealed("a", "1", "x"), sealed("a", "1", "x"), false},
		"same version, other":    {true, sealed("a", "1", "x"), sealed("a", "1", "y"), false},
		"other version":          {true, sealed("a", "1", "x"), sealed("a", "2", "x"), false},
		"nothing to go by":       {true, blank(sealed("a", "1", "x"), noUID), blank(sealed("a", "1", "x"), noUID), false},
		"nor a version to go by": {true, blank(sealed("a", "1", "x"), noVersion), blank(sealed("a", "1", "x"), noVersion), false},
	} {
		debug.SetMemoryLimit(limits[test.scarce])
		for _, stream := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				server := &testkit.Server{NoStream: !stream}
				if stream {
					server.OnWatch = testkit.Watches(
						testkit.Sent(watch.Event{Type: watch.Added, Object: test.first}, testkit.EndMark("5"), testkit.FailedWith(testkit.ErrExpired)),
						testkit.Sent(watch.Event{Type: watch.Added, Object: test.second}, testkit.EndMark("6")), testkit.NewScriptedWatch(0))
				} else {
					server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
						return testkit.PodList(fmt.Sprint(4+n), []*v1.Pod{test.first, test.second}[n-1]), nil
					}
					server.OnWatch = testkit.Watches(testkit.Sent(testkit.FailedWith(testkit.ErrExpired)), testkit.NewScriptedWatch(0))
				}
				informer := informerOf(server)
				type update struct{ old, current any }
				updates := make(chan update, 10)
				_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, current any) { updates <- update{old, current} }})
				require.NoError(t, err)
				defer running(t, informer)()
				require.NoError(t, cache.WaitForSync(t.Context(), informer))
				before, _, _ := informer.GetStore().GetByKey("ns/a")
				heard := <-updates
				after, _, _ := informer.GetStore().GetByKey("ns/a")
				assert.Equal(t, test.kept, before == after, "%s, stream %t", name, stream)
				assert.Equal(t, test.second, after)
				assert.Same(t, before, heard.old)
				assert.Same(t, after, heard.current)
			})
		}
	}
}
