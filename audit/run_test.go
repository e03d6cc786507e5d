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
		assert.Contains(t, report.String(), "; asked for a relist")
		r.calm()
		assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
		assert.Equal(t, []string{
			"delete ns/x 1 unknown", "add ns/a 2", "update ns/b 3 -> 3",
		}, r.recorder.Take())

		damage()
		report = r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist})
		assert.False(t, report.Relisted)
		assert.True(t, report.TooSoon)
		assert.Contains(t, report.String(), "; the last relist was less than an hour ago")
		time.Sleep(time.Hour)
		assert.True(t, r.once(t, audit.Options{Depth: audit.Content, Repair: audit.Relist}).Relisted)
		r.calm()
		assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
		assert.Len(t, listings(src, 0), 8, "two for each audit that finds something: the relists were streamed")
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
		report := r.once(t, audit.Options{Repair: audit.Relist})
		over := time.Now()
		all, degraded := known()
		assert.Equal(t, []string{"an audit has found 1 object that differed from the server"}, degraded)
		assert.Equal(t, []string{"audit"}, all.Causes)
		assert.Equal(t, map[string]int64{"equal": 1, "different": 1}, all.Audits.Ended)
		assert.Equal(t, map[string]int64{"missing": 1}, all.Audits.Found)
		assert.EqualValues(t, 1, all.Audits.Relists)
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
		r.calm()
		r.once(t, audit.Options{})
		all, degraded = known()
		assert.Empty(t, degraded)
		assert.Equal(t, map[string]int64{"equal": 2, "different": 1, "failed": 1}, all.Audits.Ended)

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
