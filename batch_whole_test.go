// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// probe is an index function that reads the store, each time that it is called, so that it reads it
// in the middle of whatever is on its way into it.
type probe struct {
	mu    sync.Mutex
	store cache.Store
	seen  []string // states, each as often as it was seen
}

func (p *probe) index(obj any) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := cache.SnapshotOf(p.store)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	filed, err := s.ByIndex("probe", "all")
	newest := ""
	for _, listed := range s.List() {
		newest = event.LaterVersion(newest, listed.(*v1.Pod).ResourceVersion)
	}
	p.seen = append(p.seen, fmt.Sprintf("%q: %d, %d filed, newest %q", s.ResourceVersion(), s.Len(), len(filed), newest))
	return []string{"all"}, err
}

// TestReadersSeeABatchWhole: what waits at the watch is one batch, and a list is one Replace. Who
// reads in the middle of either sees the state before it.
func TestReadersSeeABatchWhole(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		const size = 100
		var events []watch.Event
		later := testkit.PodList("3000", testkit.PodAt("a", "1"))
		for i := range size {
			events = append(events, testkit.Added(fmt.Sprintf("b-%d", i), fmt.Sprint(1000+i)))
			later.Items = append(later.Items, *testkit.PodAt(fmt.Sprintf("b-%d", i), fmt.Sprint(2000+i)))
		}
		events = append(events, testkit.Deleted("z", "1100"), testkit.Modified("a", "1101"), testkit.FailedWith(testkit.ErrExpired))
		lists := []runtime.Object{testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodAt("z", "2")), later}
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(testkit.Sent(events...)),
			OnList: func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) { return lists[n-1], nil }}
		p := &probe{}
		informer := cache.InformerFunc(cache.WithBackoff(*testkit.Second()))(server, &v1.Pod{}, 0, cache.Indexers{"probe": p.index})
		p.store = informer.GetStore()
		stop := running(t, informer)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		want := slices.Concat(
			slices.Repeat([]string{`"": 0, 0 filed, newest ""`}, 2),
			slices.Repeat([]string{`"5": 2, 2 filed, newest "2"`}, size+1),
			slices.Repeat([]string{`"1101": 101, 101 filed, newest "1101"`}, size+1),
		)
		assert.Equal(t, want, p.seen)
		assert.Equal(t, "3000", informer.LastSyncResourceVersion())
	})
}
