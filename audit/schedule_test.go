// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"fmt"
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
)

// stepped is a source that calls a function before it answers the n-th page that an audit asks for.
type stepped struct {
	*cachetest.Source
	pages  int
	before func(n int)
}

func (s *stepped) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if s.before != nil && (o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || o.Continue != "") {
		s.pages++
		s.before(s.pages)
	}
	return s.Source.ListWithContext(ctx, o)
}

func (s *stepped) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// lists are pages of the two lists of an audit that finds something, and moments beside them.
const (
	firstBegins = iota + 1
	firstGoesOn
	secondBegins
	secondGoesOn
	between
)

// disturbance is what happens to an informer during an audit, and what then becomes of an object
// that the store lacks: while the first snapshot is compared, half a second before the second one
// is taken, and while that is compared.
type disturbance struct {
	name                  string
	do                    func(*stepped, *rig, context.CancelFunc)
	first, amid, secondly outcome
}

// outcome is what an audit comes to.
type outcome struct {
	found    []string
	tries    int
	relisted bool
	err      string // is in the error; "": none
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
		{"stop", func(_ *stepped, _ *rig, stop context.CancelFunc) { stop() },
			outcome{nil, 0, false, "the informer has stopped"}, unconfirmed, unconfirmed},
		{"relist", func(_ *stepped, r *rig, _ context.CancelFunc) { require.NoError(t, cache.Relist(r)) },
			passed, confirmed, confirmed}, // amid: it has not begun
		{"relist that takes long", func(s *stepped, r *rig, _ context.CancelFunc) {
			s.Script(cachetest.VerbWatchList, cachetest.Fault{Delay: time.Hour})
			require.NoError(t, cache.Relist(r))
		}, unanswered, unanswered, unanswered},
		{"expiry", func(s *stepped, _ *rig, _ context.CancelFunc) {
			s.Compact(s.Tick())
			s.Cut()
		}, outcome{nil, 2, false, ""}, passed, passed},
		{"event", func(s *stepped, _ *rig, _ context.CancelFunc) {
			s.Patch("ns", "p000", func(obj runtime.Object) { obj.(*corev1.Pod).Labels = map[string]string{"written": "now"} })
		}, passed, passed, confirmed},
	}
}

// disturbed audits an informer that lacks an object, and has something happen at a moment.
func disturbed(t *testing.T, d disturbance, moment int) (r *rig, report audit.Report, err error, stopped bool) {
	names := make([]string, 600) // two pages
	for i := range names {
		names[i] = fmt.Sprintf("p%03d", i)
	}
	s := &stepped{Source: pods(names...)}
	r = &rig{Source: s.Source, SharedIndexInformer: cache.InformerFunc()(s, &corev1.Pod{}, 0, cache.Indexers{})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.RunWithContext(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	r.calm()
	require.NoError(t, r.GetStore().Delete(r.stored("p000")))
	s.Tick()
	s.Bookmark()
	r.calm()
	disturb := func() {
		d.do(s, r, stop)
		time.Sleep(10 * time.Second)
		synctest.Wait()
	}
	s.before = func(n int) {
		if n == moment {
			disturb()
		}
		if n == firstGoesOn && moment == between {
			go func() { time.Sleep(time.Second / 2); d.do(s, r, stop) }()
		}
	}
	report, err = audit.Once(t.Context(), r, audit.Options{Repair: audit.Relist})
	r.calm() // a page that the audit did not wait for comes
	return r, report, err, ctx.Err() != nil
}

// TestDisturbed: whatever happens to an informer at whatever moment of an audit, the audit tells no
// more than two snapshots have, asks for no relist that is not needed, and leaves the informer as
// it is.
func TestDisturbed(t *testing.T) {
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
					if err != nil {
						got.err = want.err
						assert.ErrorContains(t, err, want.err)
					}
					assert.Equal(t, want, got)
					assert.Equal(t, report.Relisted && err == nil, report.Repaired)
					if stopped {
						return
					}
					time.Sleep(2 * time.Hour)
					r.calm()
					assert.Empty(t, r.once(t, audit.Options{Depth: audit.Content}).Findings)
				})
			})
		}
	}
}
