// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// proxy is between an informer and a server. As long as it lies, its lists and watch-lists have some of the
// objects only.
type proxy struct {
	*cachetest.Source
	lies atomic.Int64 // the number of answers in which it will lie
	keep atomic.Int64 // the number of objects in such an answer
}

func (p *proxy) lie() bool { return p.lies.Load() > 0 && p.lies.Add(-1) >= 0 }

func (p *proxy) ListWithContext(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
	list, err := p.Source.ListWithContext(ctx, o)
	if err == nil && o.Continue == "" && p.lie() {
		pods := list.(*v1.PodList)
		pods.Items, pods.Continue = pods.Items[:min(len(pods.Items), int(p.keep.Load()))], ""
	}
	return list, err
}

func (p *proxy) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := p.Source.WatchWithContext(ctx, o)
	if err != nil || o.SendInitialEvents == nil || !p.lie() {
		return w, err
	}
	short := &shortWatch{Interface: w, events: make(chan watch.Event), stopped: make(chan struct{})}
	go short.pass(int(p.keep.Load()))
	return short, nil
}

// shortWatch is a watch-list that has some of the initial objects only.
type shortWatch struct {
	watch.Interface
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *shortWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *shortWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *shortWatch) pass(keep int) {
	defer close(w.events)
	initial := true
	for event := range w.Interface.ResultChan() {
		if initial = initial && event.Type == watch.Added; initial {
			if keep--; keep < 0 {
				continue
			}
		}
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
	}
}

// lossRig is an informer behind a proxy.
type lossRig struct {
	*testing.T
	cache.SharedIndexInformer
	server   *proxy
	recorder cachetest.Recorder
}

// newLossRig returns an informer that has not run, of one source or of one of several.
func newLossRig(t *testing.T, several bool, options kinformer.Options) *lossRig {
	r := &lossRig{T: t, server: &proxy{Source: cachetest.New(cachetest.Options{
		Example: &v1.Pod{}, NewList: func() apiruntime.Object { return &v1.PodList{} },
	})}}
	if !several {
		r.SharedIndexInformer = kinformer.New(r.server, &v1.Pod{}, options)
		return r
	}
	var set *sources.Set
	r.SharedIndexInformer, set = sources.New(&v1.Pod{}, options)
	set.Put("pods", r.server)
	return r
}

// inLoss runs a test with a running informer of n pods, which lists or streams, as one source or as one of
// several, and which must not say anything at the end that it does not say in the test.
func inLoss(t *testing.T, n int, test func(r *lossRig)) {
	testkit.Reports(t)
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		for _, several := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v several %v", mode, several), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newLossRig(t, several, kinformer.Options{Requests: kinformer.Requests{Mode: mode}})
					for i := range n {
						r.server.Put(testkit.PodAt(fmt.Sprintf("p%03d", i), ""))
					}
					_, err := r.AddEventHandler(&r.recorder)
					require.NoError(t, err)
					defer testkit.InBackground(t, r.RunWithContext)()
					r.settle()
					require.Len(t, r.recorder.Take(), n)
					test(r)
				})
			})
		}
	}
}

func (r *lossRig) settle() {
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

// relist makes the informer list again through the proxy, which lies so often.
func (r *lossRig) relist(lies, keep int64) {
	r.server.lies.Store(lies)
	r.server.keep.Store(keep)
	require.NoError(r, kinformer.Relist(r.SharedIndexInformer))
	r.settle()
}

// confirmed returns the number of answers that were asked for once more.
func (r *lossRig) confirmed() int64 {
	return informers.Inspected(r.T, r.SharedIndexInformer).Relists["loss"]
}

// TestLossIsConfirmed: an answer that would remove more than half of the objects is asked for once more, and the
// second answer counts.
func TestLossIsConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		stored     int
		lies, keep int64
		left       int
		confirmed  int64
	}{
		"lied to once":            {40, 1, 3, 40, 1},
		"nothing left":            {40, 1, 0, 40, 1},
		"two answers alike":       {40, 2, 3, 3, 1},
		"half":                    {40, 1, 20, 20, 0},
		"more than half":          {40, 1, 19, 40, 1},
		"the fewest objects":      {20, 1, 9, 20, 1},
		"too few to be looked at": {19, 1, 3, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inLoss(t, c.stored, func(r *lossRig) {
				r.relist(c.lies, c.keep)
				assert.Equal(r, c.confirmed, r.confirmed())
				assert.Len(r, r.GetStore().ListKeys(), c.left)
				assert.Len(r, r.recorder.Take(), c.stored-c.left)
			})
		})
	}
}

// behind makes the store take ten seconds for an event, and then changes the server. The informer has read the
// changes, and waits with them, when it lists again.
func (r *lossRig) behind(lies int64, change func()) {
	var takes atomic.Int64
	require.NoError(r, r.AddIndexers(cache.Indexers{"slow": func(any) ([]string, error) {
		time.Sleep(time.Duration(takes.Swap(0)))
		return nil, nil
	}}))
	takes.Store(int64(10 * time.Second))
	r.server.Put(testkit.PodAt("p000", ""))
	synctest.Wait()
	change()
	synctest.Wait()
	r.relist(lies, 0)
}

// TestLossIsOfWhatWasRead: an answer is compared with what the informer has read, also if the store has not got it
// yet.
func TestLossIsOfWhatWasRead(t *testing.T) {
	inLoss(t, 10, func(r *lossRig) {
		r.behind(1, func() {
			for i := range 40 {
				r.server.Put(testkit.PodAt(fmt.Sprintf("p%03d", 10+i), ""))
			}
		})
		assert.EqualValues(r, 1, r.confirmed(), "objects that come")
		assert.Len(r, r.GetStore().ListKeys(), 50)
		assert.NotContains(r, strings.Join(r.recorder.Take(), " "), "delete")
	})
	inLoss(t, 30, func(r *lossRig) {
		r.behind(0, func() {
			for i := range 16 {
				r.server.Delete("ns", fmt.Sprintf("p%03d", 1+i))
			}
		})
		assert.Zero(r, r.confirmed(), "objects that go")
		assert.Len(r, r.GetStore().ListKeys(), 14)
	})
	inLoss(t, 10, func(r *lossRig) {
		r.behind(0, func() {
			for i := range 40 {
				r.server.Put(testkit.PodAt(fmt.Sprintf("p%03d", 10+i), ""))
			}
		})
		assert.Zero(r, r.confirmed(), "objects that come, and a true answer")
		assert.Len(r, r.GetStore().ListKeys(), 50)
	})
}

// TestRefusedWhileBehind: whether a listed state that cannot be transformed is of the cached object is asked when the list
// is stored, not when it arrives: the object may have been created again in between.
func TestRefusedWhileBehind(t *testing.T) {
	testkit.Reports(t)
	for _, several := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newLossRig(t, several, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Queue: kinformer.Queue{KeepCached: true}})
			require.NoError(t, r.SetTransform(func(obj any) (any, error) {
				if obj.(*v1.Pod).Labels["bad"] != "" {
					return nil, testkit.ErrForbidden
				}
				return obj, nil
			}))
			r.server.Put(testkit.PodAt("a", ""))
			defer testkit.InBackground(t, r.RunWithContext)()
			r.settle()
			r.behind(0, func() {
				r.server.Delete("ns", "a")
				again := testkit.PodAt("a", "")
				again.UID = "new"
				r.server.Put(again)
				bad := again.DeepCopy()
				bad.Labels = map[string]string{"bad": "yes"}
				r.server.Put(bad)
			})
			after, is, _ := r.GetStore().GetByKey("ns/a")
			require.True(t, is, "several %v", several)
			assert.EqualValues(t, "new", after.(*v1.Pod).UID)
			assert.Empty(t, after.(*v1.Pod).Labels)
		})
	}
}

// TestLossIsNotConfirmed: if the second request fails, the store stays, and the status says why.
func TestLossIsNotConfirmed(t *testing.T) {
	inLoss(t, 40, func(r *lossRig) {
		r.server.lies.Store(1)
		if informers.Inspected(r.T, r.SharedIndexInformer).Streams.Ended == 0 {
			r.server.FailNext(cachetest.VerbList, nil)
		}
		r.server.FailNext(cachetest.VerbList, testkit.ErrForbidden)
		require.NoError(r, kinformer.Relist(r.SharedIndexInformer))
		r.settle()
		status := informers.Status(r.T, r.SharedIndexInformer)
		require.ErrorIs(r, status.LastError, testkit.ErrForbidden)
		assert.ErrorContains(r, status.LastError, "would remove 40 of 40 objects")
		assert.Len(r, r.GetStore().ListKeys(), 40)
		assert.Empty(r, r.recorder.Take())
		assert.EqualValues(r, 1, r.confirmed())
	})
}

// TestLossAtRandom: a proxy that lies now and then, but not twice in a row, removes nothing; and what the server
// really deletes is removed, even if the proxy lies about it.
func TestLossAtRandom(t *testing.T) {
	inLoss(t, 60, func(r *lossRig) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			switch random.IntN(4) {
			case 0:
				r.server.Put(testkit.PodAt(fmt.Sprintf("p%03d", random.IntN(80)), ""))
			case 1:
				if name := fmt.Sprintf("p%03d", random.IntN(80)); len(r.server.Versions()) > 45 && r.server.Get("ns", name) != nil {
					r.server.Delete("ns", name)
				}
			case 2:
				r.relist(int64(random.IntN(2)), int64(random.IntN(15)))
			case 3:
				r.server.Inject(cachetest.ErrorEvent(cachetest.Expired()))
				r.server.lies.Store(1)
				r.settle()
			}
			synctest.Wait()
			require.Len(r, r.GetStore().ListKeys(), len(r.server.Versions()))
		}
		assert.Positive(r, r.confirmed())
	})
}

// TestLossBesideOthers checks that objects that come do not hide those that go: neither others, nor one that comes again and
// again, nor others that cannot be decoded.
func TestLossBesideOthers(t *testing.T) {
	testkit.Reports(t)
	items := func(prefix, spec string) (all []string) {
		for i := range 25 {
			all = append(all, gadget(fmt.Sprint(prefix, i), "5", spec))
		}
		return all
	}
	again := slices.Repeat([]string{gadget("p0", "5", `{}`)}, 25)
	for name, then := range map[string][]string{"others": items("q", `{}`), "one again": again, "undecodable": items("q", `{"replicas":"x"}`)} {
		for _, several := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " several ", several), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &gadgetServer{list: gadgetList("10", items("p", `{}`)...)}
					lw := typedGadgets(t, gadgetConfig(s, true), "GadgetList", &gadgetV1List{})
					informer := kinformer.New(lw, &gadgetV1{}, byLists(true))
					if several {
						var set *sources.Set
						informer, set = sources.New(&gadgetV1{}, byLists(true))
						set.Put("gadgets", lw)
					}
					defer testkit.InBackground(t, informer.RunWithContext)()
					time.Sleep(time.Minute)
					require.Len(t, informer.GetStore().List(), 25)
					s.answers(gadgetList("20", then...))
					require.NoError(t, kinformer.Relist(informer))
					time.Sleep(time.Minute)
					assert.EqualValues(t, 1, informers.Status(t, informer).Confirmed)
					assert.Equal(t, 3, s.lists)
				})
			})
		}
	}
}
