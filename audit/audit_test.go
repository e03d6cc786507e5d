// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// rig is an informer to audit, with its server.
type rig struct{ informers.Relisting }

// follow runs an informer of a source of pods until the test ends. It must be called in a bubble.
func follow(t *testing.T, src *cachetest.Source, lw cache.ListerWatcher, transform cache.TransformFunc, options kinformer.Options) *rig {
	t.Helper()
	r := &rig{informers.Relisting{Source: src, SharedIndexInformer: kinformer.New(lw, &corev1.Pod{}, options)}}
	if transform != nil {
		require.NoError(t, r.SetTransform(transform))
	}
	informers.Handle(t, r, &r.Recorder)
	running(t, r)
	r.Calm()
	return r
}

// withRig runs test in a bubble, with an informer of a source of pods.
func withRig(t *testing.T, names []string, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		src := pods(names...)
		test(t, follow(t, src, src, nil, kinformer.Options{}))
	})
}

// running runs an informer until the test ends.
func running(t *testing.T, informer cache.Controller) {
	t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
}

func pods(names ...string) *cachetest.Source {
	objects := make([]runtime.Object, len(names))
	for i, name := range names {
		objects[i] = testkit.Pod(name, "1")
	}
	return cachetest.Of(objects...)
}

func (r *rig) once(t require.TestingT, o audit.Options) audit.Report {
	report, err := audit.Once(context.Background(), r, o)
	require.NoError(t, err)
	return report
}

// found returns the findings of a report, one a line.
func found(r audit.Report) (lines []string) {
	for _, f := range r.Findings {
		line := fmt.Sprintf("%s %s", f.Kind, f.Key)
		if !f.Confirmed {
			line += " once"
		}
		lines = append(lines, line)
	}
	return lines
}

// stored returns a pod of the store, for the caller to modify.
func (r *rig) stored(name string) *corev1.Pod {
	obj, _, _ := r.GetStore().GetByKey("ns/" + name)
	return obj.(*corev1.Pod).DeepCopy()
}

// listings returns the list requests from the n-th on.
func listings(src *cachetest.Source, n int) (asked []metav1.ListOptions) {
	for _, request := range src.Requests()[n:] {
		if request.Verb == cachetest.VerbList {
			asked = append(asked, request.Options)
		}
	}
	return asked
}

// TestEqual: a cache with the server's state is reported as equal, by a list in pages at the
// version of the store, for every way in which it got its state, while the server continues.
func TestEqual(t *testing.T) {
	for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, content), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := pods()
					for i := range 1200 {
						src.Create(testkit.Pod(fmt.Sprint("p", i), "1"))
					}
					r := follow(t, src, src, nil, kinformer.Options{Requests: kinformer.Requests{Mode: mode}})
					version, before := r.LastSyncResourceVersion(), len(src.Requests())
					release := src.Stall() // later writes arrive late
					src.Delete("ns", "p1")
					src.Create(testkit.Pod("new", "1"))
					report := r.once(t, audit.Options{Content: content})
					release()
					assert.True(t, report.Equal())
					assert.Empty(t, report.Findings)
					assert.Empty(t, report.Found)
					assert.Equal(t, 1, report.Tries)
					assert.Equal(t, version, report.Digest.ResourceVersion)
					assert.Equal(t, 1200, report.Digest.Objects)
					assert.False(t, report.Metadata)
					assert.Equal(t, fmt.Sprintf(`*v1.Pod: 1200 objects at version %q, by %s: as on the server`, version, map[bool]string{false: "versions", true: "content"}[content]), report.String())

					asked := listings(src, before)
					require.Len(t, asked, 3)
					for i, options := range asked {
						assert.EqualValues(t, 500, options.Limit)
						if i == 0 {
							assert.Equal(t, version, options.ResourceVersion)
							assert.Equal(t, metav1.ResourceVersionMatchExact, options.ResourceVersionMatch)
						}
					}
				})
			})
		}
	}
}

// TestFindings: each kind of difference is found and has the right kind.
func TestFindings(t *testing.T) {
	withRig(t, []string{"a", "b", "c", "d", "e"}, func(t *testing.T, r *rig) {
		store := r.GetStore()
		require.NoError(t, store.Delete(r.stored("a")))
		stale, other, altered := r.stored("b"), r.stored("c"), r.stored("d")
		stale.ResourceVersion = "1"
		other.UID = "another"
		altered.Labels = map[string]string{"is": "altered"}
		for _, pod := range []*corev1.Pod{stale, other, altered, testkit.PodAt("x", "1")} {
			require.NoError(t, store.Update(pod))
		}

		report := r.once(t, audit.Options{})
		assert.Equal(t, []string{"missing ns/a", "stale ns/b", "stale ns/c", "extra ns/x"}, found(report))
		assert.Equal(t, audit.Finding{Key: "ns/b", Kind: audit.Stale, Cached: "1", Listed: "3", Confirmed: true}, report.Findings[1])
		assert.Equal(t, map[audit.Kind]int{audit.Missing: 1, audit.Stale: 2, audit.Extra: 1}, report.Confirmed)
		assert.Equal(t, report.Found, report.Confirmed)
		assert.False(t, report.Equal())
		assert.Contains(t, report.String(), "confirmed 1 missing, 1 extra, 2 stale (missing ns/a, stale ns/b, stale ns/c, extra ns/x)")

		report = r.once(t, audit.Options{Content: true})
		assert.Equal(t, []string{"missing ns/a", "stale ns/b", "stale ns/c", "different ns/d", "extra ns/x"}, found(report))
	})
}

// TestPassingDifferences: a passing difference is reported, is not confirmed, and is counted separately.
func TestPassingDifferences(t *testing.T) {
	withRig(t, []string{"a", "b"}, func(t *testing.T, r *rig) {
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		go func() {
			time.Sleep(time.Second / 2)
			r.Put(testkit.Pod("a", "2"))
		}()
		report := r.once(t, audit.Options{Repair: true})
		assert.Equal(t, []string{"missing ns/a once"}, found(report))
		assert.True(t, report.Equal())
		assert.False(t, report.Relisted)
		assert.Contains(t, report.String(), ": 1 missing, gone at a second look (missing ns/a)")
		all := informers.Inspected(t, r)
		assert.EqualValues(t, 1, all.Audits.Passing)
		assert.Equal(t, map[string]int64{"equal": 1}, all.Audits.Ended)
		assert.Empty(t, all.Audits.Confirmed)
		assert.Empty(t, all.Status.Problems)
	})
}

// TestManyFindings: all findings are counted, and a thousand kept.
func TestManyFindings(t *testing.T) {
	withRig(t, []string{"a"}, func(t *testing.T, r *rig) {
		for i := range 1500 {
			require.NoError(t, r.GetStore().Add(testkit.PodAt(fmt.Sprint("x", i), "1")))
		}
		report := r.once(t, audit.Options{})
		assert.Len(t, report.Findings, 1000)
		assert.Equal(t, map[audit.Kind]int{audit.Extra: 1500}, report.Confirmed)
		assert.Less(t, len(report.String()), 300)
	})
}

// TestCompaction: if the server no longer has the version of a snapshot, another one is taken once
// there is a newer version; at most three.
func TestCompaction(t *testing.T) {
	withRig(t, []string{"a", "b"}, func(t *testing.T, r *rig) {
		r.Tick()
		r.Compact(r.Tick())
		go func() {
			time.Sleep(30 * time.Second)
			r.Bookmark()
		}()
		began := time.Now()
		report := r.once(t, audit.Options{})
		assert.Equal(t, 2, report.Tries)
		assert.Equal(t, fmt.Sprint(r.ResourceVersion()), report.Digest.ResourceVersion)
		assert.InDelta(t, 30, time.Since(began).Seconds(), 2)

		r.Compact(r.Tick())
		began = time.Now()
		_, err := audit.Once(t.Context(), r, audit.Options{})
		assert.ErrorIs(t, err, audit.ErrExpired)
		assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
		assert.InDelta(t, 180, time.Since(began).Seconds(), 5, "two waits for a newer version")
	})
}

// TestServerIsBehind: a version that the server does not know yet is requested again. If the server knows
// one of three versions, and no longer has it, the cache is not ahead.
func TestServerIsBehind(t *testing.T) {
	withRig(t, []string{"a"}, func(t *testing.T, r *rig) {
		unknown := cachetest.TooLargeResourceVersion(9, 3)
		r.FailNext(cachetest.VerbList, unknown, unknown)
		report := r.once(t, audit.Options{})
		assert.True(t, report.Equal())
		assert.Equal(t, 3, report.Tries)
		assert.Equal(t, time.Minute, report.Took)

		r.FailNext(cachetest.VerbList, unknown, cachetest.Expired(), unknown)
		report, err := audit.Once(t.Context(), r, audit.Options{Repair: true})
		assert.ErrorIs(t, err, audit.ErrExpired)
		assert.False(t, report.Equal())
		assert.Empty(t, report.Found)
		assert.False(t, report.Relisted)
	})
}

type otherList struct {
	*cachetest.Source
	list func(metav1.ListOptions) (runtime.Object, error)
}

func (l otherList) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.list(options)
}

// TestUnsupported: servers that list at another version than requested, or refuse requests with a
// version, cannot be audited.
func TestUnsupported(t *testing.T) {
	for name, answer := range map[string]func(*cachetest.Source) (runtime.Object, error){
		"the newest":    func(src *cachetest.Source) (runtime.Object, error) { src.Tick(); return src.List(metav1.ListOptions{}) },
		"no version":    func(*cachetest.Source) (runtime.Object, error) { return &corev1.PodList{}, nil },
		"a bad request": func(*cachetest.Source) (runtime.Object, error) { return nil, apierrors.NewBadRequest("no match") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := pods("a", "b")
				r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
					if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
						return answer(src)
					}
					return src.List(o)
				}}, nil, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
				_, err := audit.Once(t.Context(), r, audit.Options{Repair: true})
				assert.ErrorIs(t, err, audit.ErrUnsupported)
				assert.NotErrorIs(t, err, audit.ErrExpired)
			})
		})
	}
}

// TestErrors: values that cannot be audited are refused, and the cause of the context is returned.
func TestErrors(t *testing.T) {
	_, err := audit.Once(t.Context(), foreign{}, audit.Options{})
	assert.ErrorIs(t, err, inspect.ErrForeign)
	assert.ErrorIs(t, audit.Run(t.Context(), foreign{}, audit.RunOptions{}), inspect.ErrForeign)
	queueOnly := cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)})})
	_, err = audit.Once(t.Context(), queueOnly, audit.Options{})
	assert.ErrorIs(t, err, inspect.ErrForeign, "there is no store")

	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		_, err := audit.Once(t.Context(), cache.NewSharedIndexInformer(src, &corev1.Pod{}, 0, nil), audit.Options{})
		assert.EqualError(t, err, "audit of *v1.Pod: the informer has not synced: never run")
		assert.ErrorIs(t, err, audit.ErrUnsynced)
		r := follow(t, src, src, nil, kinformer.Options{})
		_, err = audit.Once(t.Context(), r, audit.Options{Content: true, Source: src})
		assert.ErrorContains(t, err, "Options.Source")
		assert.EqualError(t, audit.Run(t.Context(), r, audit.RunOptions{Every: time.Minute - 1}), "audit: RunOptions.Every is 59.999999999s, less than 1m0s")
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		never := make(chan struct{})
		src.Script(cachetest.VerbList, cachetest.Fault{Until: never})
		go func() { synctest.Wait(); cancel(cause) }()
		_, err = audit.Once(ctx, r, audit.Options{})
		assert.ErrorIs(t, err, cause)
	})
}

// TestStopped: a cache that is no longer kept up to date is not audited. For an informer that cannot run,
// this is an error, not a panic.
func TestStopped(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		informer := cache.NewSharedIndexInformer(src, &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- audit.Run(t.Context(), informer, audit.RunOptions{}) }()
		go func() { synctest.Wait(); cancel() }()
		informer.RunWithContext(ctx)
		_, err := audit.Once(t.Context(), informer, audit.Options{})
		assert.ErrorIs(t, err, audit.ErrEnded)
		assert.ErrorIs(t, <-ended, audit.ErrEnded)
		for _, lw := range []cache.ListerWatcher{nil, (*cache.ListWatch)(nil)} {
			unfit := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
			unfit.RunWithContext(t.Context())
			_, err := audit.Once(t.Context(), unfit, audit.Options{})
			assert.ErrorContains(t, err, "the informer has stopped")
		}
	})
}

type foreign struct{}

func (foreign) HasSyncedChecker() cache.DoneChecker { return nil }

// TestBusyInformer: an audit waits until the handler of NewInformer returns, or its context ends.
func TestBusyInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		var free chan struct{}
		_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: src, ObjectType: &corev1.Pod{},
			Handler: cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-free }},
		})
		running(t, controller)
		synctest.Wait()
		free = make(chan struct{})
		src.Put(testkit.Pod("a", "2"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := audit.Once(ctx, controller, audit.Options{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Minute, func() { close(free) })
		report, err := audit.Once(t.Context(), controller, audit.Options{Content: true})
		require.NoError(t, err)
		assert.True(t, report.Equal())
		assert.Equal(t, "3", report.Digest.ResourceVersion, "with what was on its way")
	})
}

// TestDigest: digests differ exactly if states differ.
func TestDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b", "c")
		one := follow(t, src, src, nil, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		other := follow(t, src, src, blank, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}})
		digest := func(r *rig) audit.Digest { return r.once(t, audit.Options{}).Digest }
		assert.Equal(t, digest(one), digest(other))
		assert.Len(t, digest(one).String(), 32)
		assert.NotContains(t, digest(one).String(), "00000000")

		before := digest(one)
		src.Put(testkit.Pod("b", "2"))
		one.Calm()
		assert.NotEqual(t, before.Sum, digest(one).Sum)
		assert.Equal(t, digest(one), digest(other))
		now := digest(one)
		src.Tick()
		src.Bookmark()
		one.Calm()
		assert.Equal(t, now.Sum, digest(one).Sum)
		assert.NotEqual(t, now, digest(one), "it is of another version")
		require.NoError(t, one.GetStore().Delete(one.stored("c")))
		assert.NotEqual(t, now.Sum, digest(one).Sum)
	})
}

// TestDigestOfReport: the digest of a report is the cache's, whatever was listed.
func TestDigestOfReport(t *testing.T) {
	type items = []runtime.RawExtension
	for what, change := range map[string]func(items) items{
		"the same":        func(all items) items { return all },
		"nothing":         func(items) items { return nil },
		"less":            func(all items) items { return all[1:] },
		"more":            func(all items) items { return append(all, runtime.RawExtension{Object: testkit.PodAt("x", "1")}) },
		"one twice":       func(all items) items { return append(all, all[0]) },
		"one for another": func(all items) items { return append(all[:1], all[0]) },
	} {
		synctest.Test(t, func(t *testing.T) {
			src := pods("a", "b")
			r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
				list, err := src.List(o)
				if all := list.(*metav1.List); o.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
					all.Items = change(all.Items)
				}
				return list, err
			}}, nil, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
			want := follow(t, src, src, nil, kinformer.Options{}).once(t, audit.Options{}).Digest
			assert.Equal(t, want, r.once(t, audit.Options{}).Digest, what)
		})
	}
}

// blank is a transform that removes all metadata of the server.
func blank(obj any) (any, error) {
	pod := obj.(*corev1.Pod)
	pod.UID, pod.ResourceVersion, pod.ManagedFields = "", strings.Repeat("7", 3), nil
	return pod, nil
}

const isAhead = "an audit has found the cache ahead of the server, which does not know its resourceVersion"

// restored follows a source of two pods until it has 52, and then restores the backup with two.
func restored(t *testing.T, options kinformer.Options) *rig {
	t.Helper()
	src := pods("a", "b")
	backup := src.ResourceVersion()
	r := follow(t, src, src, nil, options)
	for i := range 50 {
		src.Create(testkit.Pod(fmt.Sprint("new", i), "1"))
	}
	r.Calm()
	src.Rewind(backup)
	r.Calm()
	return r
}

func (r *rig) degraded(t *testing.T) []string { return informers.Texts(informers.Status(t, r)) }

// TestAhead: a cache does not notice for days that its server was restored from a backup. An audit
// finds it by three lists in a minute, and a relist of the most recent state repairs it, although
// that is older than the cached one.
func TestAhead(t *testing.T) {
	for name, options := range map[string]kinformer.Options{
		"list":       {Requests: kinformer.Requests{Mode: kinformer.ListModeList}},
		"watch-list": {Requests: kinformer.Requests{Mode: kinformer.ListModeWatchList}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := restored(t, options)
				time.Sleep(3 * 24 * time.Hour)
				synctest.Wait()
				require.Len(t, r.GetStore().List(), 52)
				require.Empty(t, r.degraded(t))

				version := r.LastSyncResourceVersion()
				report := r.once(t, audit.Options{})
				assert.Equal(t, []audit.Finding{{Kind: audit.Ahead, Cached: version, Confirmed: true}}, report.Findings)
				assert.Equal(t, map[audit.Kind]int{audit.Ahead: 1}, report.Found)
				assert.Equal(t, report.Found, report.Confirmed)
				assert.False(t, report.Equal())
				assert.Equal(t, 3, report.Tries)
				assert.Equal(t, time.Minute, report.Took)
				assert.Equal(t, fmt.Sprintf("*v1.Pod: 52 objects at version %q, by versions: ahead of the server, which does not know that version",
					version), report.String())
				assert.Equal(t, []string{isAhead}, r.degraded(t))

				r.repairedFromBackup(t, version)
			})
		})
	}
}

// repairedFromBackup audits, with Repair, an informer at a version that the server does not know.
func (r *rig) repairedFromBackup(t *testing.T, version string) {
	before := len(r.Requests())
	report := r.once(t, audit.Options{Repair: true})
	assert.True(t, report.Repaired)
	assert.Contains(t, report.String(), "; repaired by a relist")
	assert.Empty(t, r.degraded(t))
	assert.Len(t, r.GetStore().List(), 2)
	assert.Equal(t, fmt.Sprint(r.ResourceVersion()), r.LastSyncResourceVersion(), "the version went back")
	for _, request := range r.Requests()[before:] {
		if request.Verb != cachetest.VerbWatch && request.Options.ResourceVersionMatch != "Exact" {
			assert.Empty(t, request.Options.ResourceVersion, "the most recent state is requested, not one that is not older")
		}
	}
	all := informers.Inspected(t, r)
	assert.Equal(t, map[string]int64{"different": 2}, all.Audits.Ended)
	assert.Equal(t, map[string]int64{"ahead": 2}, all.Audits.Confirmed)

	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	assert.ErrorIs(t, kinformer.WaitForVersion(ctx, r, version), context.DeadlineExceeded, "a version of before the restore is one to come")
	for fmt.Sprint(r.ResourceVersion()) != version {
		r.Put(testkit.Pod("a", fmt.Sprint(r.ResourceVersion())))
	}
	assert.NoError(t, kinformer.WaitForVersion(t.Context(), r, version))
}

// TestAheadAtTheSecondLook: findings from before the restoration of the server are dropped.
func TestAheadAtTheSecondLook(t *testing.T) {
	withRig(t, []string{"a", "b"}, func(t *testing.T, r *rig) {
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		time.AfterFunc(time.Second/2, func() { r.Rewind(2) })
		report := r.once(t, audit.Options{Repair: true})
		assert.Equal(t, map[audit.Kind]int{audit.Ahead: 1}, report.Confirmed)
		assert.Equal(t, report.Confirmed, report.Found)
		assert.True(t, report.Repaired)
		assert.Len(t, r.GetStore().List(), 1)
	})
}

// TestRepairThatFails: an informer that gets no state, or a wrong one, stays degraded.
func TestRepairThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		testkit.Reports(t)
		r := restored(t, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		tooLarge := cachetest.TooLargeResourceVersion(99, 3)
		r.FailNext(cachetest.VerbList, tooLarge, tooLarge, tooLarge)
		for range 100 {
			r.FailNext(cachetest.VerbList, apierrors.NewForbidden(corev1.Resource("pods"), "", nil))
		}
		report, err := audit.Once(t.Context(), r, audit.Options{Repair: true})
		assert.ErrorContains(t, err, "whether that has helped is not known: the state is not stored yet")
		assert.True(t, report.Relisted)
		assert.False(t, report.Repaired)
		assert.Equal(t, 6*time.Minute, report.Took)
		assert.Contains(t, report.String(), "; asked for a relist")
		assert.Contains(t, r.degraded(t), isAhead)
	})
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			list, err := src.List(o)
			if all := list.(*metav1.List); o.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
				all.Items = append(all.Items, runtime.RawExtension{Object: testkit.PodAt("x", "1")})
			}
			return list, err
		}}, nil, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		report := r.once(t, audit.Options{Repair: true})
		assert.Equal(t, []string{"missing ns/x"}, found(report))
		assert.True(t, report.Relisted)
		assert.False(t, report.Repaired)
		assert.Len(t, r.degraded(t), 1)
	})
}

// transforms keep different parts of an object.
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

// TestTransforms: for each transform, an audit knows the server's versions of objects from lists
// and watches, and compares content with the transform's result for the listed object.
func TestTransforms(t *testing.T) {
	for name, transform := range transforms {
		for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := pods("a", "b", "c")
					options := kinformer.Options{Requests: kinformer.Requests{Mode: mode}}
					r := follow(t, src, src, transform, options)
					src.Put(testkit.Pod("b", "2"))
					src.Put(testkit.Pod("d", "1"))
					src.Delete("ns", "c")
					src.Put(testkit.Pod("c", "another"))
					r.Calm()
					assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)
					require.NoError(t, kinformer.Relist(r))
					r.Calm()
					assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)

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

// lose makes the informer's watch miss the events of write, and audits.
func (r *rig) lose(write func()) audit.Report {
	end := r.Lose()
	write()
	end()
	r.Tick()
	r.Bookmark()
	r.Calm()
	report, _ := audit.Once(context.Background(), r, audit.Options{})
	return report
}

// slim is what a transform function keeps of a pod. Its unexported fields are content as well.
type slim struct {
	metav1.ObjectMeta
	node string
}

// TestUnexported: objects with unexported fields are compared with these.
func TestUnexported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, func(obj any) (any, error) {
			if p, ok := obj.(*corev1.Pod); ok {
				return &slim{p.ObjectMeta, p.Spec.NodeName}, nil
			}
			return obj, nil
		}, kinformer.Options{})
		assert.True(t, r.once(t, audit.Options{Content: true}).Equal())
		obj, _, _ := r.GetStore().GetByKey("ns/a")
		written := *obj.(*slim)
		written.node = "written by the program"
		require.NoError(t, r.GetStore().Update(&written))
		assert.Equal(t, []string{"different ns/a"}, found(r.once(t, audit.Options{Content: true})))
	})
}

// TestDropped: dropped fields are not compared.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.Pod("a", "1")
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "dropped"}}
		src := cachetest.Of(pod, testkit.Pod("b", "1"))
		r := follow(t, src, src, nil, kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields"}}})
		assert.Empty(t, r.stored("a").ManagedFields)
		report := r.once(t, audit.Options{Content: true})
		assert.True(t, report.Equal(), "%v", report)
	})
}

// TestKept: fields that are not kept are not compared, and those of whole objects are, whoever decodes.
func TestKept(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, direct := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				image := "before"
				wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
					if r.URL.Query().Get("watch") != "" {
						return nil, true
					}
					var all [][]byte
					for i := range 20 {
						p := informers.WirePod(i, fmt.Sprint(10+i))
						p.Spec = corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: strings.Repeat("x", 2000), Image: image}}}
						if i == 7 {
							p.Labels["mine"] = "yes"
						}
						all = append(all, taptest.Encoded(p, media))
					}
					return [][]byte{taptest.PodList(metav1.ListMeta{ResourceVersion: "50"}, all, media)}, false
				}}
				informer := kinformer.New(informers.ClientOver(t, wire, media, direct), &corev1.Pod{}, kinformer.Options{
					Requests: kinformer.Requests{Mode: kinformer.ListModeList},
					Decoding: kinformer.Decoding{Keep: []string{"spec.nodeName"}, Whole: klabels.SelectorFromSet(klabels.Set{"mine": "yes"}), ShareParts: direct},
				})
				defer informers.Run(t, informer)()
				time.Sleep(5 * time.Second)
				report, err := audit.Once(t.Context(), informer, audit.Options{Content: true})
				require.NoError(t, err)
				assert.True(t, report.Equal(), "%+v", report)
				image = "another, of the same version"
				report, err = audit.Once(t.Context(), informer, audit.Options{Content: true})
				require.NoError(t, err)
				require.Len(t, report.Findings, 1, "%+v", report)
				assert.Equal(t, "space/p7", report.Findings[0].Key)
			})
		}
	}
}

// TestCollections: the informer's collection is compared with a list of its ListerWatcher, without
// objects that the informer leaves out.
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
		selected := follow(t, src, selecting(src), nil, kinformer.Options{})
		expecting := follow(t, src, src, nil, kinformer.Options{Requests: kinformer.Requests{ExpectedNamespace: "ns"}})
		src.Put(testkit.Pod("b", "2")) // leaves the selection
		selected.Calm()

		report := selected.once(t, audit.Options{})
		assert.Empty(t, report.Findings)
		assert.Equal(t, 2, report.Digest.Objects)
		report = expecting.once(t, audit.Options{Content: true})
		assert.Empty(t, report.Findings)
		assert.Equal(t, 3, report.Digest.Objects)
		assert.Equal(t, 1, report.Foreign)
	})
}

// TestListSlots: an audit waits for a slot, and releases it, also if the server does not send a page for
// a minute.
func TestListSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, slots := pods("a"), kinformer.NewListSlots(1)
		r := follow(t, src, src, nil, kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
		answer := make(chan struct{})
		other := pods("x")
		other.Script(cachetest.VerbWatchList, cachetest.Fault{Until: answer})
		running(t, kinformer.New(other, &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Slots: slots}}))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-1) // after a minute, a hanging list has no slot
		defer cancel()
		before := len(src.Requests())
		_, err := audit.Once(ctx, r, audit.Options{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, src.Requests(), before)
		close(answer)
		synctest.Wait()
		r.once(t, audit.Options{})
		src.Script(cachetest.VerbList, cachetest.Fault{Until: make(chan struct{})})
		report, err := audit.Once(t.Context(), r, audit.Options{})
		assert.ErrorContains(t, err, "a page of the list has taken more than 1m0s")
		assert.Equal(t, time.Minute, report.Took)
		assert.True(t, r.once(t, audit.Options{}).Equal())
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

// TestMetadata: a metadata client can be the Source, and the report says so.
func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			assert.Empty(t, o.ResourceVersionMatch)
			return src.List(o)
		}}, nil, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList, ExpectedNamespace: "ns"}})
		report := r.once(t, audit.Options{Source: metadataOf(src)})
		assert.Empty(t, report.Findings)
		assert.True(t, report.Metadata)
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		assert.Equal(t, []string{"missing ns/a"}, found(r.once(t, audit.Options{Source: metadataOf(src)})))
	})
}

// TestSeveralInformers: several informers of one source, and several audits of one informer, run
// concurrently.
func TestSeveralInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		good, bad := follow(t, src, src, nil, kinformer.Options{}), follow(t, src, src, blank, kinformer.Options{})
		require.NoError(t, bad.GetStore().Delete(good.stored("a")))
		done := make(chan struct{})
		for range 10 {
			go func() {
				defer func() { done <- struct{}{} }()
				assert.Empty(t, good.once(t, audit.Options{Content: true}).Findings)
				assert.Equal(t, []string{"missing ns/a"}, found(bad.once(t, audit.Options{})))
			}()
		}
		for range 10 {
			src.Put(testkit.Pod("b", fmt.Sprint(src.ResourceVersion())))
			<-done
		}
	})
}

// TestUnorderedVersionIsNotCompared: a version from events of any order is not compared.
func TestUnorderedVersionIsNotCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		added := watch.Event{Type: watch.Added, Object: testkit.PodAt("a", "5")}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("")), OnWatch: testkit.Watches(testkit.Sent(added))}
		r := follow(t, nil, server, nil, kinformer.Options{})
		require.Len(t, r.GetStore().List(), 1)
		_, err := audit.Once(t.Context(), r, audit.Options{})
		assert.ErrorIs(t, err, audit.ErrUnvouched)
		assert.NotErrorIs(t, err, audit.ErrExpired)
		all := informers.Inspected(t, r)
		assert.Equal(t, map[string]int64{"unvouched": 1}, all.Audits.Ended)
		assert.Len(t, server.Requests(), 2, "a list and a watch")
	})
}

// TestKinds: some clients set the kind of the objects of a watch, and not of a list. This is not a
// difference.
func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := testkit.Pod("a", "1")
		pod.Kind, pod.APIVersion = "Pod", "v1"
		src := cachetest.Of(pod)
		r := follow(t, src, otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			list, err := src.List(o)
			return list, errors.Join(err, meta.EachListItem(list, func(item runtime.Object) error {
				item.(*corev1.Pod).TypeMeta = metav1.TypeMeta{}
				return nil
			}))
		}}, nil, kinformer.Options{})
		assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)
		altered := r.stored("a")
		altered.Labels["v"] = "2"
		require.NoError(t, r.GetStore().Update(altered))
		assert.Equal(t, []string{"different ns/a"}, found(r.once(t, audit.Options{Content: true})))
	})
}
