// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRepair: a relist makes the cache what the server has, and handlers hear of the difference; at
// most once an hour.
func TestRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b", "c", "d")
		r := follow(t, src, src, nil)
		damage := func() {
			require.NoError(t, r.GetStore().Delete(r.stored("a")))
			altered := r.stored("b")
			altered.Labels = map[string]string{"is": "altered"}
			require.NoError(t, r.GetStore().Update(altered))
			require.NoError(t, r.GetStore().Add(testkit.PodAt("x", "1")))
		}
		damage()
		r.recorder.Take()
		report := r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist})
		assert.Equal(t, []string{"missing ns/a", "different ns/b", "extra ns/x"}, found(report))
		assert.True(t, report.Relisted)
		assert.True(t, report.Repaired)
		assert.False(t, report.Equal(), "it was not")
		assert.Contains(t, report.String(), "; repaired by a relist")
		assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
		assert.Equal(t, []string{
			"delete ns/x 1 unknown", "add ns/a 2", "update ns/b 3 -> 3",
		}, r.recorder.Take())

		damage()
		report = r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist})
		assert.False(t, report.Relisted)
		assert.False(t, report.Repaired)
		assert.True(t, report.TooSoon)
		assert.Contains(t, report.String(), "; the last relist was less than an hour ago")
		time.Sleep(time.Hour)
		assert.True(t, r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist}).Repaired)
		assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
		assert.Len(t, listings(src, 0), 10, "three for each audit that repairs something: the relists were streamed")
	})
}

// TestRun: audits come at the mean distance that was asked for, never at once, and none is left out
// because one has failed.
func TestRun(t *testing.T) {
	for _, every := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			src := pods("a")
			informer := cache.NewSharedIndexInformer(src, &corev1.Pod{}, 0, nil)
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			mean := every
			if mean == 0 {
				mean = 30 * time.Minute
			}
			var failed, good int
			last, began := time.Now(), time.Now()
			ended := make(chan error, 1)
			go func() {
				ended <- audit.Run(ctx, informer, audit.Options{Every: every, OnReport: func(r audit.Report, err error) {
					waited := time.Since(last)
					last = time.Now()
					assert.GreaterOrEqual(t, waited, mean/2)
					assert.LessOrEqual(t, waited, 3*mean/2)
					if err != nil {
						failed++
					} else {
						good++
						assert.True(t, r.Equal())
					}
				}})
			}()
			time.Sleep(3*mean + time.Nanosecond)
			synctest.Wait()
			assert.GreaterOrEqual(t, failed, 2, "it does not run yet")
			running(t, informer)
			synctest.Wait()
			src.FailNext(cachetest.VerbList, cachetest.InternalError())
			time.Sleep(200 * mean)
			cancel(cause)
			assert.Equal(t, cause, <-ended)
			assert.GreaterOrEqual(t, failed, 3)
			assert.InDelta(t, 203, float64(failed+good), 203/5)
			assert.InDelta(t, 203*mean.Seconds(), time.Since(began).Seconds(), mean.Seconds())
		})
	}
}

// TestRunLogs: without OnReport, the log has a line for what differs, and none for the rest.
func TestRunLogs(t *testing.T) {
	log := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		go func() {
			time.Sleep(29 * time.Minute / 2)
			assert.NoError(t, r.GetStore().Delete(r.stored("a")))
		}()
		src.FailNext(cachetest.VerbList, cachetest.InternalError())
		assert.ErrorIs(t, audit.Run(ctx, r, audit.Options{}), context.DeadlineExceeded)
		lines := testkit.About("audit", log.Take())
		require.NotEmpty(t, lines)
		for _, line := range lines {
			assert.Contains(t, line, "Warning: the cache is not what its server has")
			assert.Contains(t, line, "confirmed 1 missing (missing ns/a)")
		}
		assert.ErrorContains(t, audit.Run(t.Context(), r, audit.Options{Depth: audit.Content, Source: src}), "Options.Source")
	})
}

// TestRunLogsWhatIsNotConfirmed: an audit that fails after it has found something is a warning,
// too.
func TestRunLogsWhatIsNotConfirmed(t *testing.T) {
	log := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, nil)
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		src.FailNext(cachetest.VerbList, nil, cachetest.InternalError())
		ctx, cancel := context.WithTimeout(t.Context(), 46*time.Minute)
		defer cancel()
		assert.ErrorIs(t, audit.Run(ctx, r, audit.Options{}), context.DeadlineExceeded)
		lines := testkit.About("audit", log.Take())
		require.NotEmpty(t, lines)
		assert.Contains(t, lines[0], "Warning: an audit has found something, and could not be finished")
		assert.Contains(t, lines[0], "1 missing, not confirmed (missing ns/a)")
		assert.Contains(t, lines[0], "not confirmed: ")
	})
}

// deaf is a source whose lists do not heed their context, as those of a ListFunc without one.
type deaf struct{ *cachetest.Source }

func (d deaf) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return d.List(o)
}

// TestRunEndsWithItsInformer while the server does not answer an audit, which gives its turn back.
func TestRunEndsWithItsInformer(t *testing.T) {
	for _, wrapped := range []func(*cachetest.Source) cache.ListerWatcher{
		func(src *cachetest.Source) cache.ListerWatcher { return src },
		func(src *cachetest.Source) cache.ListerWatcher { return deaf{src} },
	} {
		synctest.Test(t, func(t *testing.T) {
			src, slots := pods("a"), cache.NewListSlots(1)
			informer := cache.InformerFunc(cache.WithListSlots(slots))(wrapped(src), &corev1.Pod{}, 0, nil)
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan struct{})
			go func() { defer close(stopped); informer.RunWithContext(ctx) }()
			synctest.Wait()
			answer := make(chan struct{})
			defer close(answer)
			src.Script(cachetest.VerbList, cachetest.Fault{Until: answer})
			var reports []error
			ended := make(chan error, 1)
			go func() {
				ended <- audit.Run(t.Context(), informer, audit.Options{
					Every: time.Minute, OnReport: func(_ audit.Report, err error) { reports = append(reports, err) },
				})
			}()
			for len(listings(src, 0)) == 0 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			stop()
			<-stopped
			synctest.Wait()
			assert.ErrorIs(t, <-ended, audit.ErrEnded)
			require.Len(t, reports, 1)
			assert.ErrorIs(t, reports[0], audit.ErrEnded)

			other := cache.InformerFunc(cache.WithListSlots(slots))(pods("x"), &corev1.Pod{}, 0, nil)
			running(t, other)
			synctest.Wait()
			assert.True(t, other.HasSynced(), "the turn was given back")
		})
	}
}

// TestPageThatHangs: a server that does not answer with a page keeps an audit, and its turn, for a
// minute.
func TestPageThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, slots := pods("a"), cache.NewListSlots(1)
		r := follow(t, src, src, nil, cache.WithListSlots(slots))
		src.Script(cachetest.VerbList, cachetest.Fault{Until: make(chan struct{})})
		report, err := audit.Once(t.Context(), r, audit.Options{})
		assert.ErrorContains(t, err, "a page of the list has taken more than 1m0s")
		assert.Equal(t, time.Minute, report.Took)
		assert.True(t, r.once(t, audit.Options{}).Equal(), "the turn was given back")
	})
}

// TestSenselessOptions are refused, and say so.
func TestSenselessOptions(t *testing.T) {
	informer := cache.NewSharedIndexInformer(pods(), &corev1.Pod{}, 0, nil)
	for want, o := range map[string]audit.Options{
		"audit: Options.Depth is 99, neither Versions nor Content": {Depth: 99},
		"audit: Options.Depth is -1, neither Versions nor Content": {Depth: -1},
		"audit: Options.Repair is 99, neither NoRepair nor Relist": {Repair: 99},
		"audit: Options.Every is 1ns, less than 1m0s":              {Every: 1},
		"audit: Options.Every is 59.999999999s, less than 1m0s":    {Every: time.Minute - 1},
	} {
		_, err := audit.Once(t.Context(), informer, o)
		assert.EqualError(t, err, want)
		assert.EqualError(t, audit.Run(t.Context(), informer, o), want)
	}
}

// TestHistory: what audits have come to is told by Inspect and by the Status, which is degraded
// until an audit finds that all is well.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, src, nil)
		known := func() (cache.Inspection, []string) {
			all, err := cache.Inspect(r)
			require.NoError(t, err)
			return all, all.Status.Degraded
		}
		all, _ := known()
		assert.Zero(t, all.Audits)

		r.once(t, audit.Options{})
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		report := r.once(t, audit.Options{})
		over := time.Now()
		all, degraded := known()
		assert.Equal(t, []string{"an audit has found 1 object that differed from the server"}, degraded)
		assert.Equal(t, []string{"audit"}, all.Causes)
		assert.Equal(t, map[string]int64{"equal": 1, "different": 1}, all.Audits.Ended)
		assert.Equal(t, map[string]int64{"missing": 1}, all.Audits.Found)
		assert.Zero(t, all.Audits.Relists)
		last := all.Audits.Last
		assert.Equal(t, "different", last.Outcome)
		assert.Equal(t, over, last.At)
		assert.Equal(t, report.Took, last.Took)
		assert.Equal(t, time.Second, last.Took)
		assert.Equal(t, "3", last.ResourceVersion)
		assert.Equal(t, 1, all.Audits.Differing)

		src.FailNext(cachetest.VerbList, cachetest.InternalError())
		_, err := audit.Once(t.Context(), r, audit.Options{})
		require.Error(t, err)
		all, degraded = known()
		assert.Equal(t, "failed", all.Audits.Last.Outcome)
		assert.Equal(t, 1, all.Audits.Differing)
		assert.Len(t, degraded, 1, "that says nothing")
		assert.True(t, r.once(t, audit.Options{Repair: audit.Relist}).Repaired)
		all, degraded = known()
		assert.Empty(t, degraded)
		assert.EqualValues(t, 1, all.Audits.Relists)
		assert.Equal(t, "different", all.Audits.Last.Outcome, "it was")
		assert.Zero(t, all.Audits.Differing)
		r.once(t, audit.Options{})
		all, degraded = known()
		assert.Empty(t, degraded)
		assert.Equal(t, map[string]int64{"equal": 2, "different": 2, "failed": 1}, all.Audits.Ended)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = audit.Once(ctx, r, audit.Options{})
		require.ErrorIs(t, err, context.Canceled)
		again, _ := known()
		assert.Equal(t, all.Audits, again.Audits, "one that was given up does not count")
	})
}

// TestPassingIsCounted apart from what is confirmed.
func TestPassingIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, src, nil)
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		time.AfterFunc(time.Second/2, func() { src.Put(testkit.Pod("a", "2")) })
		r.once(t, audit.Options{})
		all, err := cache.Inspect(r)
		require.NoError(t, err)
		assert.EqualValues(t, 1, all.Audits.Passing)
		assert.Equal(t, map[string]int64{"equal": 1}, all.Audits.Ended)
		assert.Empty(t, all.Audits.Found)
		assert.Empty(t, all.Causes)
	})
}
