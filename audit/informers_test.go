// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/audited"
	"github.com/kinformer/cache/internal/testkit"
)

// transforms leave different things of an object.
var transforms = map[string]cache.TransformFunc{
	"none":  nil,
	"blank": blank,
	"of another type": func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels}}, nil
	},
	"without metadata": func(obj any) (any, error) { return "ns/" + obj.(*corev1.Pod).Labels["v"], nil },
	"harmless": func(obj any) (any, error) {
		obj.(*corev1.Pod).ManagedFields = nil
		return obj, nil
	},
}

// TestTransforms: an audit sees through a transform what the server has said of the objects, from
// lists and watches, and compares content with what the transform makes of what
// is listed.
func TestTransforms(t *testing.T) {
	for name, transform := range transforms {
		for _, mode := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := pods("a", "b", "c")
					options := []cache.Option{cache.WithListMode(mode)}
					r := follow(t, src, src, transform, options...)
					src.Put(testkit.Pod("b", "2"))
					src.Put(testkit.Pod("d", "1"))
					src.Delete("ns", "c")
					src.Put(testkit.Pod("c", "another"))
					r.calm()
					assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
					require.NoError(t, cache.Relist(r))
					r.calm()
					assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)

					lost := r.lose(func() {
						src.Put(testkit.Pod("a", "2"))
						src.Delete("ns", "b")
						src.Put(testkit.Pod("e", "2"))
					})
					assert.Equal(t, []string{"stale ns/a", "extra ns/b", "missing ns/e"}, found(lost))
				})
			})
		}
	}
}

// lose has the informer's watch not hear of what write does, and audits.
func (r *rig) lose(write func()) audit.Report {
	end := r.Lose()
	write()
	end()
	r.Tick()
	r.Bookmark()
	r.calm()
	report, _ := audit.Once(context.Background(), r, audit.Options{})
	return report
}

// TestDropped: what an informer leaves out is left out of what it is compared with.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.Pod("a", "1")
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "dropped"}}
		src := cachetest.New(pod, testkit.Pod("b", "1"))
		r := follow(t, src, src, nil, cache.WithDecoding(cache.Decoding{Drop: []string{"metadata.managedFields"}}))
		assert.Empty(t, r.stored("a").ManagedFields)
		report := r.once(t, audit.Options{Depth: audit.Content})
		assert.True(t, report.Equal(), "%v", report)
	})
}

// TestRefusedByTransform: objects that the transform refuses are counted, not found: a relist would
// not help.
func TestRefusedByTransform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b", "c")
		refuses := func(obj any) (any, error) {
			if obj.(*corev1.Pod).Labels["v"] == "bad" {
				return nil, errors.New("cannot take it")
			}
			return obj, nil
		}
		r := follow(t, src, src, refuses, cache.WithCachedOnTransformError())
		src.Put(testkit.Pod("a", "bad"))
		src.Put(testkit.Pod("new", "bad"))
		src.Put(testkit.Pod("b", "2"))
		r.calm()
		for _, depth := range []audit.Depth{audit.Versions, audit.Content} {
			report := r.once(t, audit.Options{Depth: depth})
			assert.Empty(t, report.Findings)
			assert.Equal(t, 2, report.Refused)
		}
	})
}

// TestCollections: what is compared is what the informer's ListerWatcher lists, less what the
// informer leaves out.
func TestCollections(t *testing.T) {
	selecting := func(src *cachetest.Source) cache.ListerWatcher {
		modified := func(o metav1.ListOptions) metav1.ListOptions {
			o.LabelSelector = "v=1"
			return o
		}
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return src.ListWithContext(ctx, modified(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return src.WatchWithContext(ctx, modified(o))
			},
		}
	}
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		src.Create(testkit.Pod("c", "2"))
		elsewhere := testkit.Pod("d", "1")
		elsewhere.Namespace = "other"
		src.Create(elsewhere)
		selected := follow(t, src, selecting(src), nil)
		expecting := follow(t, src, src, nil, cache.WithExpectedNamespace("ns"))
		src.Put(testkit.Pod("b", "2")) // leaves the selection
		selected.calm()

		report := selected.once(t, audit.Options{})
		assert.Empty(t, report.Findings)
		assert.Equal(t, 2, report.Digest.Objects)
		report = expecting.once(t, audit.Options{Depth: audit.Content})
		assert.Empty(t, report.Findings)
		assert.Equal(t, 3, report.Digest.Objects)
		assert.Equal(t, 1, report.Foreign)
	})
}

// TestListSlots: an audit waits for its turn, and gives it back.
func TestListSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, slots := pods("a"), cache.NewListSlots(1)
		r := follow(t, src, src, nil, cache.WithListSlots(slots))
		answer := make(chan struct{})
		other := pods("x")
		other.Script(cachetest.VerbWatchList, cachetest.Fault{Until: answer})
		running(t, cache.InformerFunc(cache.WithListSlots(slots))(other, &corev1.Pod{}, 0, nil))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-1) // then what hangs has no slot
		defer cancel()
		before := len(src.Requests())
		_, err := audit.Once(ctx, r, audit.Options{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, src.Requests(), before)
		close(answer)
		synctest.Wait()
		for range 3 {
			r.once(t, audit.Options{})
		}
	})
}

// metadataOf lists the metadata of a source, as a metadata client does.
func metadataOf(src *cachetest.Source) cache.ListerWithContext {
	return &cache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		full, err := src.ListWithContext(ctx, o)
		if err != nil {
			return nil, err
		}
		of, err := meta.ListAccessor(full)
		list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: of.GetResourceVersion(), Continue: of.GetContinue()}}
		return list, errors.Join(err, meta.EachListItem(full, func(item runtime.Object) error {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: item.(*corev1.Pod).ObjectMeta})
			return nil
		}))
	}}
}

// TestMetadata: a metadata client serves as well, and the report says so.
func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			assert.Empty(t, o.ResourceVersionMatch)
			return src.List(o)
		}}, nil, cache.WithListMode(cache.ListModeList), cache.WithExpectedNamespace("ns"))
		report := r.once(t, audit.Options{Source: metadataOf(src)})
		assert.Empty(t, report.Findings)
		assert.True(t, report.Metadata)
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		assert.Equal(t, []string{"missing ns/a"}, found(r.once(t, audit.Options{Source: metadataOf(src)})))
	})
}

// TestSeveralInformers: informers of one source, and audits of one informer, side by side.
func TestSeveralInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		good, bad := follow(t, src, src, nil), follow(t, src, src, blank)
		require.NoError(t, bad.GetStore().Delete(good.stored("a")))
		done := make(chan struct{})
		for range 10 {
			go func() {
				defer func() { done <- struct{}{} }()
				assert.Empty(t, good.once(t, audit.Options{Depth: audit.Content}).Findings)
				assert.Equal(t, []string{"missing ns/a"}, found(bad.once(t, audit.Options{})))
			}()
		}
		for range 10 {
			src.Put(testkit.Pod("b", fmt.Sprint(src.ResourceVersion())))
			<-done
		}
	})
}

// TestUnvouched: a version that may come from events in any order is not compared.
func TestUnvouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		added := watch.Event{Type: watch.Added, Object: testkit.PodAt("a", "5")}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("")), OnWatch: testkit.Watches(testkit.Sent(added))}
		r := follow(t, nil, server, nil)
		require.Len(t, r.GetStore().List(), 1)
		_, err := audit.Once(t.Context(), r, audit.Options{})
		assert.ErrorIs(t, err, audit.ErrUnvouched)
		assert.NotErrorIs(t, err, audit.ErrExpired)
		all, err := inspect.Of(r)
		require.NoError(t, err)
		assert.Equal(t, map[string]int64{"unvouched": 1}, all.Audits.Ended)
		assert.Len(t, server.Asked(), 2, "a list and a watch")
	})
}

// TestKinds: some clients say the kind of objects of a watch, and not of those of a list. That is
// no difference.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.Pod("a", "1")
		pod.Kind, pod.APIVersion = "Pod", "v1"
		src := cachetest.New(pod)
		r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			list, err := src.List(o)
			return list, errors.Join(err, meta.EachListItem(list, func(item runtime.Object) error {
				item.(*corev1.Pod).TypeMeta = metav1.TypeMeta{}
				return nil
			}))
		}}, nil)
		assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
		altered := r.stored("a")
		altered.Labels["v"] = "2"
		require.NoError(t, r.GetStore().Update(altered))
		assert.Equal(t, []string{"different ns/a"}, found(r.once(t, audit.Options{Depth: audit.Content})))
	})
}

// TestUnfit: an informer that cannot run is an error, not a panic.
func TestUnfit(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		for _, lw := range []cache.ListerWatcher{nil, (*cache.ListWatch)(nil)} {
			informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
			informer.RunWithContext(t.Context())
			_, err := audit.Once(t.Context(), informer, audit.Options{})
			assert.ErrorContains(t, err, "the informer has stopped")
		}
	})
}

// TestStartMeanwhile: an informer that did not run when an audit began is not audited by that, even
// if it has synced by now: there was nothing yet by which its server could be asked.
func TestStartMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(pods("a"), &corev1.Pod{}, 0, nil)
		known, err := audited.Of(informer)
		require.NoError(t, err)
		running(t, informer)
		synctest.Wait()
		require.True(t, informer.HasSynced())
		_, err = known.State()
		assert.ErrorIs(t, err, audited.ErrUnsynced)
		_, err = audit.Once(t.Context(), informer, audit.Options{})
		assert.NoError(t, err, "the next one")
	})
}
