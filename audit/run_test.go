// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestRepair: a relist makes the cache equal to the server's state, and handlers are called for the
// difference; at most once an hour.
func TestRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b", "c", "d")
		r := follow(t, src, src, nil, kinformer.Options{})
		damage := func() {
			require.NoError(t, r.GetStore().Delete(r.stored("a")))
			altered := r.stored("b")
			altered.Labels = map[string]string{"is": "altered"}
			require.NoError(t, r.GetStore().Update(altered))
			require.NoError(t, r.GetStore().Add(testkit.PodAt("x", "1")))
		}
		damage()
		r.Recorder.Take()
		report := r.once(t, audit.Options{Content: true, Repair: true})
		assert.Equal(t, []string{"missing ns/a", "different ns/b", "extra ns/x"}, found(report))
		assert.True(t, report.Relisted)
		assert.True(t, report.Repaired)
		assert.False(t, report.Equal(), "it was not")
		assert.Contains(t, report.String(), "; repaired by a relist")
		assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)
		assert.Equal(t, []string{
			"delete ns/x 1 unknown", "add ns/a 2", "update ns/b 3 -> 3",
		}, r.Recorder.Take())

		damage()
		report = r.once(t, audit.Options{Content: true, Repair: true})
		assert.False(t, report.Relisted)
		assert.False(t, report.Repaired)
		assert.True(t, report.TooSoon)
		assert.Contains(t, report.String(), "; the last relist was less than an hour ago")
		time.Sleep(time.Hour)
		assert.True(t, r.once(t, audit.Options{Content: true, Repair: true}).Repaired)
		assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)
		assert.Len(t, listings(src, 0), 10, "three for each audit that repairs something: the relists were streamed")
	})
}

// TestRun: audits have the requested mean distance, never follow at once, and continue after a
// failure.
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
				ended <- audit.Run(ctx, informer, audit.RunOptions{Every: every, OnReport: func(r audit.Report, err error) {
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

// TestRunLogs: without OnReport, differences are logged, also those of an audit that fails afterwards,
// and nothing else.
func TestRunLogs(t *testing.T) {
	log := testkit.CaptureLog(t)
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, nil, kinformer.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		go func() {
			time.Sleep(29 * time.Minute / 2)
			assert.NoError(t, r.GetStore().Delete(r.stored("a")))
		}()
		src.FailNext(cachetest.VerbList, cachetest.InternalError())
		assert.ErrorIs(t, audit.Run(ctx, r, audit.RunOptions{}), context.DeadlineExceeded)
		lines := testkit.About("audit", log.Take())
		require.NotEmpty(t, lines)
		for _, line := range lines {
			assert.Contains(t, line, "The cache is not what its server has")
			assert.Contains(t, line, "confirmed 1 missing (missing ns/a)")
		}

		src.FailNext(cachetest.VerbList, nil, cachetest.InternalError())
		short, end := context.WithTimeout(t.Context(), 46*time.Minute)
		defer end()
		assert.ErrorIs(t, audit.Run(short, r, audit.RunOptions{}), context.DeadlineExceeded)
		lines = testkit.About("audit", log.Take())
		require.NotEmpty(t, lines)
		assert.Contains(t, lines[0], "An audit has found something, and could not be finished")
		assert.Contains(t, lines[0], "1 missing, not confirmed (missing ns/a)")
		assert.Contains(t, lines[0], "not confirmed: ")
		assert.ErrorContains(t, audit.Run(t.Context(), r, audit.RunOptions{Options: audit.Options{Content: true, Source: src}}), "Options.Source")
	})
}

// TestRunEndsWithItsInformer: Run ends with its informer while the server does not answer an audit,
// and the slot is released.
func TestRunEndsWithItsInformer(t *testing.T) {
	for _, wrapped := range []func(*cachetest.Source) cache.ListerWatcher{
		func(src *cachetest.Source) cache.ListerWatcher { return src },
		func(src *cachetest.Source) cache.ListerWatcher { return otherList{src, src.List} }, // ignores its context
	} {
		synctest.Test(t, func(t *testing.T) {
			src, slots := pods("a"), kinformer.NewListSlots(1)
			informer := kinformer.New(wrapped(src), &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
			stop := testkit.InBackground(t, informer.RunWithContext)
			synctest.Wait()
			answer := make(chan struct{})
			defer close(answer)
			src.Script(cachetest.VerbList, cachetest.Fault{Until: answer})
			var reports []error
			ended := make(chan error, 1)
			go func() {
				ended <- audit.Run(t.Context(), informer, audit.RunOptions{
					Every: time.Minute, OnReport: func(_ audit.Report, err error) { reports = append(reports, err) },
				})
			}()
			for len(listings(src, 0)) == 0 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			stop()
			synctest.Wait()
			assert.ErrorIs(t, <-ended, audit.ErrEnded)
			require.Len(t, reports, 1)
			assert.ErrorIs(t, reports[0], audit.ErrEnded)

			other := kinformer.New(pods("x"), &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Slots: slots}})
			running(t, other)
			synctest.Wait()
			assert.True(t, other.HasSynced(), "the turn was given back")
		})
	}
}

// TestHistory: the results of audits are in Inspection and in Status, which is degraded until an
// audit finds no difference.
func TestHistory(t *testing.T) {
	withRig(t, []string{"a", "b"}, func(t *testing.T, r *rig) {
		known := func() (inspect.Inspection, []string) {
			all := informers.Inspected(t, r)
			return all, informers.Texts(all.Status)
		}
		all, _ := known()
		assert.Zero(t, all.Audits)

		r.once(t, audit.Options{})
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		report := r.once(t, audit.Options{})
		over := time.Now()
		all, degraded := known()
		assert.Equal(t, []string{"an audit has found 1 object that differed from the server"}, degraded)
		assert.Equal(t, "audit", all.Status.Problems[0].Cause)
		assert.Equal(t, map[string]int64{"equal": 1, "different": 1}, all.Audits.Ended)
		assert.Equal(t, map[string]int64{"missing": 1}, all.Audits.Confirmed)
		assert.Zero(t, all.Audits.Relists)
		last := all.Audits.Last
		assert.Equal(t, "different", last.Outcome)
		assert.Equal(t, over, last.At)
		assert.Equal(t, report.Took, last.Took)
		assert.Equal(t, time.Second, last.Took)
		assert.Equal(t, "3", last.ResourceVersion)
		assert.Equal(t, 1, all.Audits.Differing)

		r.FailNext(cachetest.VerbList, cachetest.InternalError())
		_, err := audit.Once(t.Context(), r, audit.Options{})
		require.True(t, apierrors.IsInternalError(err), "%v", err)
		all, degraded = known()
		assert.Equal(t, "failed", all.Audits.Last.Outcome)
		assert.Equal(t, 1, all.Audits.Differing)
		assert.Len(t, degraded, 1, "that says nothing")
		assert.True(t, r.once(t, audit.Options{Repair: true}).Repaired)
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

// TestRefusedWhileRelisted: objects that the transform has refused are counted, and are not
// findings, until a state with them is stored, also during a relist and after a failed one.
func TestRefusedWhileRelisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := make([]string, 200)
		for i := range names {
			names[i] = fmt.Sprintf("p%03d", i)
		}
		src := pods(names...)
		var slow, strict atomic.Bool
		slowly := otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue != "" && o.Limit == 150 && slow.Load() { // the second page of the informer
				time.Sleep(time.Hour)
				return nil, errors.New("no second page")
			}
			return src.List(o)
		}}
		strict.Store(true)
		refuses := func(obj any) (any, error) {
			if strict.Load() && obj.(*corev1.Pod).Labels["v"] == "bad" {
				return nil, errors.New("cannot take it")
			}
			return obj, nil
		}
		r := follow(t, src, slowly, refuses, kinformer.Options{Queue: kinformer.Queue{KeepCached: true}, Requests: kinformer.Requests{Mode: kinformer.ListModeList, PageSize: 150}})
		src.Put(testkit.Pod("p000", "bad"))
		src.Put(testkit.Pod("new", "bad"))
		src.Put(testkit.Pod("p001", "2"))
		r.Calm()
		isRefused := func() {
			for _, content := range []bool{false, true} {
				report := r.once(t, audit.Options{Content: content, Repair: true})
				assert.Empty(t, report.Findings)
				assert.Equal(t, 2, report.Refused)
			}
		}
		isRefused()
		strict.Store(false)
		slow.Store(true)
		require.NoError(t, kinformer.Relist(r))
		r.Calm()
		isRefused()
		time.Sleep(time.Hour)
		r.Calm()
		isRefused()
		slow.Store(false)
		time.Sleep(2 * time.Hour)
		report := r.once(t, audit.Options{Content: true})
		assert.Empty(t, report.Findings)
		assert.Zero(t, report.Refused)
		assert.Equal(t, "bad", r.stored("p000").Labels["v"])
	})
}

// TestReportOfAFailedAudit: a report says if nothing was compared, and if findings were not
// confirmed.
func TestReportOfAFailedAudit(t *testing.T) {
	assert.False(t, audit.Report{}.Equal())
	withRig(t, []string{"a"}, func(t *testing.T, r *rig) {
		forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
		r.FailNext(cachetest.VerbList, forbidden)
		report, err := audit.Once(t.Context(), r, audit.Options{})
		assert.True(t, apierrors.IsForbidden(err))
		assert.False(t, report.Equal())
		assert.Equal(t, "*v1.Pod, by versions: not compared", report.String())

		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		r.FailNext(cachetest.VerbList, nil, forbidden)
		report, err = audit.Once(t.Context(), r, audit.Options{Repair: true})
		assert.True(t, apierrors.IsForbidden(err))
		assert.False(t, report.Equal())
		assert.ErrorContains(t, err, "not confirmed")
		assert.Equal(t, []string{"missing ns/a once"}, found(report))
		assert.Nil(t, report.Confirmed)
		assert.False(t, report.Relisted)
		assert.Equal(t, `*v1.Pod: 0 objects at version "2", by versions: 1 missing, not confirmed (missing ns/a)`, report.String())
	})
}

// manyAlike is small enough that hardly any shared part is checked by chance.
const manyAlike = 30

// alike is a client of directly decoded pods with the same labels. The first pod is decoded by
// both, for comparison.
func alike(t *testing.T, media string) cache.ListerWatcher {
	list, events := testkit.PodList("5000"), [][]byte(nil)
	for i := range manyAlike {
		pod := testkit.PodAt(fmt.Sprintf("p%02d", i), fmt.Sprint(1000+i))
		pod.Labels = map[string]string{"app": "that of all others"}
		if i == 0 {
			pod.Labels["app"] = "that of this one"
		}
		list.Items = append(list.Items, *pod)
		events = append(events, taptest.Frame(watch.Added, pod, media))
	}
	events = append(events, taptest.Frame(watch.Bookmark, testkit.EndMark("5000").Object, media))
	body := [][]byte{taptest.Encoded(list, media)}
	wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			return events, true
		case query.Get("watch") != "":
			return nil, true
		}
		return body, false
	}}
	return informers.ClientOver(t, wire, media, true)
}

// sharedLabels returns labels that two objects share. An object that was decoded by both may have
// its own; these are chosen at random.
func sharedLabels(t *testing.T, store cache.Store) map[string]string {
	seen := map[uintptr]bool{}
	for _, obj := range store.List() {
		labels := obj.(*corev1.Pod).Labels
		at := reflect.ValueOf(labels).Pointer()
		if seen[at] {
			return labels
		}
		seen[at] = true
	}
	require.Fail(t, "no object shares its labels")
	return nil
}

// TestWrittenParts: a write to a shared part modifies all objects that share it. An audit finds this,
// although the server's bytes are unchanged, and after a relist all objects are right.
func TestWrittenParts(t *testing.T) {
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for _, mode := range []kinformer.ListMode{kinformer.ListModeList, kinformer.ListModeWatchList} {
			t.Run(fmt.Sprint(media, mode), func(t *testing.T) {
				reports := testkit.Reports(t)
				synctest.Test(t, func(t *testing.T) {
					r := follow(t, nil, alike(t, media), nil, kinformer.Options{Requests: kinformer.Requests{Mode: mode}, Decoding: kinformer.Decoding{ShareParts: true}})
					require.Empty(t, r.once(t, audit.Options{Content: true}).Found)
					sharedLabels(t, r.GetStore())["app"] = "written"
					report := r.once(t, audit.Options{Content: true, Repair: true})
					assert.Greater(t, report.Confirmed[audit.Different], manyAlike/2)
					assert.True(t, report.Relisted)
					r.Calm()
					assert.Empty(t, r.once(t, audit.Options{Content: true}).Found)
					assert.EqualValues(t, 1, informers.Status(t, r).Decoding.Shared.Mutations)
					assert.Len(t, reports(), 1)
				})
			})
		}
	}
}

// The pages of the two lists of an audit with findings, and moments between them.
const (
	firstBegins = iota + 1
	firstGoesOn
	secondBegins
	secondGoesOn
	between
)

// disturbance is an event in an informer's life during an audit, with the expected outcomes for an
// object that the store lacks: while the first snapshot is compared, half a second before the
// second one is taken, and while that is compared.
type disturbance struct {
	name                  string
	do                    func(*rig, context.CancelFunc)
	first, amid, secondly outcome
}

// outcome is the expected result of an audit.
type outcome struct {
	found    []string
	tries    int
	relisted bool
	err      string // part of the error; "" if there is none
}

var (
	once  = []string{"missing ns/p000 once"}
	twice = []string{"missing ns/p000"}
)

func disturbances(t *testing.T) []disturbance {
	passed, confirmed := outcome{once, 1, false, ""}, outcome{twice, 1, true, ""}
	unconfirmed := outcome{once, 1, false, "not confirmed: the informer has stopped"}
	unanswered := outcome{twice, 1, true, "the state is not stored yet"}
	return []disturbance{
		{"stop", func(_ *rig, stop context.CancelFunc) { stop() },
			outcome{nil, 0, false, "the informer has stopped"}, unconfirmed, unconfirmed},
		{"relist", func(r *rig, _ context.CancelFunc) { require.NoError(t, kinformer.Relist(r)) },
			passed, confirmed, confirmed}, // amid: the watch has not begun
		{"relist that takes long", func(r *rig, _ context.CancelFunc) {
			r.Script(cachetest.VerbWatchList, cachetest.Fault{Delay: time.Hour})
			require.NoError(t, kinformer.Relist(r))
		}, unanswered, unanswered, unanswered},
		{"expiry", func(r *rig, _ context.CancelFunc) {
			r.Compact(r.Tick())
			r.Cut()
		}, outcome{nil, 2, false, ""}, passed, passed},
		{"event", func(r *rig, _ context.CancelFunc) {
			r.Patch("ns", "p000", func(obj runtime.Object) { obj.(*corev1.Pod).Labels = map[string]string{"written": "now"} })
		}, passed, passed, confirmed},
	}
}

// disturbed audits an informer that lacks an object, with a disturbance at a moment.
func disturbed(t *testing.T, d disturbance, moment int) (r *rig, report audit.Report, err error, stopped bool) {
	names := make([]string, 600) // two pages
	for i := range names {
		names[i] = fmt.Sprintf("p%03d", i)
	}
	src, audited, pages := pods(names...), false, 0
	var disturb func()
	ctx, stop := context.WithCancel(t.Context())
	lists := otherList{src, func(o metav1.ListOptions) (runtime.Object, error) {
		if audited && (o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.Continue != "") {
			if pages++; pages == moment {
				disturb()
				time.Sleep(10 * time.Second)
				synctest.Wait()
			}
			if pages == firstGoesOn && moment == between {
				time.AfterFunc(time.Second/2, disturb)
			}
		}
		return src.List(o)
	}}
	r = &rig{informers.Relisting{Source: src, SharedIndexInformer: kinformer.New(lists, &corev1.Pod{}, kinformer.Options{})}}
	disturb = func() { d.do(r, stop) }
	ended := make(chan struct{})
	go func() { defer close(ended); r.RunWithContext(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	r.Calm()
	require.NoError(t, r.GetStore().Delete(r.stored("p000")))
	r.Tick()
	r.Bookmark()
	r.Calm()
	audited = true
	report, err = audit.Once(t.Context(), r, audit.Options{Repair: true})
	r.Calm() // a page arrives for which the audit did not wait
	return r, report, err, ctx.Err() != nil
}

// TestDisturbedAudits: whatever happens to an informer at any moment of an audit, the audit reports only
// differences of its two snapshots, requests no unnecessary relist, and does not change the
// informer.
func TestDisturbedAudits(t *testing.T) {
	for _, d := range disturbances(t) {
		for _, moment := range []int{firstBegins, firstGoesOn, between, secondBegins, secondGoesOn} {
			t.Run(fmt.Sprint(d.name, " ", moment), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, report, err, stopped := disturbed(t, d, moment)
					want := d.first
					switch moment {
					case between:
						want = d.amid
					case secondBegins, secondGoesOn:
						want = d.secondly
					}
					got := outcome{found: found(report), tries: report.Tries, relisted: report.Relisted}
					if want.err == "" {
						assert.NoError(t, err)
					} else if assert.ErrorContains(t, err, want.err) {
						got.err = want.err
					}
					assert.Equal(t, want, got)
					assert.Equal(t, report.Relisted && err == nil, report.Repaired)
					if stopped {
						return
					}
					time.Sleep(2 * time.Hour)
					r.Calm()
					assert.Empty(t, r.once(t, audit.Options{Content: true}).Findings)
				})
			})
		}
	}
}
