// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// lose makes sources lose the events that write causes, and then follow a later one.
func (r *rig) lose(write func(), from ...*lister) {
	for _, l := range from {
		l.gate.loses.Store(true)
	}
	write()
	synctest.Wait()
	for _, l := range from {
		l.gate.loses.Store(false)
		r.write(l.namespace, "later", "x") // an audit compares at this version
	}
	synctest.Wait()
}

// TestAuditOfInformer: an audit of an informer audits each of its sources, adds up their reports, and
// names the source of each finding. Each source is repaired by its own request.
func TestAuditOfInformer(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		once := func() audit.Report {
			report, err := audit.Once(r.Context(), r.informer, audit.Options{Repair: true})
			require.NoError(r, err)
			return report
		}
		r.write("a", "1", "x")
		r.write("b", "1", "x")
		a, b := r.asks("a", ""), r.asks("b", "")
		r.run()
		assert.Equal(r, "*v1.Pod: 0 objects of 0 sources, by versions: as on the server", once().String())
		assert.True(r, once().Equal())
		r.set.Put("a", a)
		r.set.Put("b", b)
		synctest.Wait()
		report := once()
		assert.True(r, report.Equal())
		assert.Equal(r, "*v1.Pod: 2 objects of 2 sources, by versions: as on the server", report.String())

		r.lose(func() { r.write("a", "1", "x"); r.write("a", "2", "x"); r.server.Delete("b", "1") }, a, b)
		report = once()
		assert.False(r, report.Equal())
		assert.Equal(r, map[audit.Kind]int{audit.Stale: 1, audit.Missing: 1, audit.Extra: 1}, report.Confirmed)
		assert.Equal(r, report.Confirmed, report.Found)
		assert.True(r, report.Repaired)
		assert.Equal(r, "*v1.Pod: 4 objects of 2 sources, by versions: 1 missing, 1 extra, 1 stale, confirmed 1 missing, 1 extra, 1 stale "+
			"(stale a/1 of source a, missing a/2 of source a, extra b/1 of source b); repaired by a relist", report.String())
		assert.Equal(r, []string{"a/1", "a/2", "a/later", "b/later"}, r.stored())
		all, err := inspect.Of(r.informer)
		require.NoError(r, err)
		assert.Equal(r, map[string]int64{"equal": 2, "different": 2}, all.Audits.Ended, "of the sources")
		assert.EqualValues(r, 2, all.Audits.Relists)
		assert.True(r, once().Equal())
	})
}

// TestAuditOfSomeSources: sources that cannot be audited do not prevent the audit of the others. The
// report is not that of an equal cache, and the error has their reasons, of which it names eight.
func TestAuditOfSomeSources(t *testing.T) {
	testkit.Reports(t)
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.write("a", "1", "x")
		a := r.asks("a", "")
		r.set.Put("a", a)
		for i := range 10 {
			r.forbid(fmt.Sprint("no-", i))
		}
		_, err := audit.Once(r.Context(), r.informer, audit.Options{})
		require.EqualError(r, err, "audit of *v1.Pod: "+audit.ErrUnsynced.Error()+": never run", "no source is named before the informer runs")
		r.run()
		report, err := audit.Once(r.Context(), r.informer, audit.Options{})
		require.ErrorIs(r, err, audit.ErrUnsynced)
		assert.Equal(r, 8, strings.Count(err.Error(), "source no-"), err)
		require.ErrorContains(r, err, "; and 2 sources more")
		assert.False(r, report.Equal())
		assert.Equal(r, "*v1.Pod: 1 object of 1 of 11 sources, by versions: as on the server", report.String())

		r.lose(func() { r.write("a", "1", "x") }, a)
		report, err = audit.Once(r.Context(), r.informer, audit.Options{})
		require.Error(r, err)
		assert.Equal(r, map[audit.Kind]int{audit.Stale: 1}, report.Confirmed)

		require.NoError(r, r.set.Remove("a"))
		report, err = audit.Once(r.Context(), r.informer, audit.Options{})
		require.Error(r, err)
		assert.Equal(r, "*v1.Pod, by versions: not compared", report.String())

		report, err = audit.Once(r.Context(), r.informer, audit.Options{Source: a})
		require.ErrorContains(r, err, "audit each source")
		assert.Equal(r, "*v1.Pod, by versions: not compared", report.String())
		ended, end := context.WithCancel(r.Context())
		end()
		_, err = audit.Once(ended, r.informer, audit.Options{})
		require.EqualError(r, err, "audit of *v1.Pod: "+context.Canceled.Error())
		r.stop()
		<-r.stopped
		_, err = audit.Once(r.Context(), r.informer, audit.Options{})
		require.EqualError(r, err, "audit of *v1.Pod: "+audit.ErrEnded.Error())
	})
}

// TestAuditOfRemovedSource: a source that is removed during the audit of its informer is no error.
func TestAuditOfRemovedSource(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		a, b := r.asks("a", ""), r.asks("b", "")
		r.set.Put("a", a)
		r.set.Put("b", b)
		r.run()
		r.lose(func() { r.write("b", "1", "x") }, b)
		b.listed = func() {
			b.listed = nil
			assert.NoError(r, r.set.Remove("b"))
		}
		report, err := audit.Once(r.Context(), r.informer, audit.Options{})
		require.NoError(r, err)
		assert.Equal(r, "*v1.Pod: 0 objects of 1 source, by versions: as on the server", report.String())
		assert.True(r, report.Equal())
	})
}

// TestAuditsOfManySources: at most eight sources are audited at the same time, and all of them are.
func TestAuditsOfManySources(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		lists, release := make(chan struct{}, 100), make(chan struct{})
		asked := map[string]*lister{}
		for i := range 20 {
			name := fmt.Sprint("ns-", i)
			asked[name] = r.asks(name, "")
			r.set.Put(name, asked[name])
		}
		r.run()
		for _, l := range asked {
			l.listed = func() { lists <- struct{}{}; <-release }
		}
		done := later(func() error { _, err := audit.Once(r.Context(), r.informer, audit.Options{}); return err })
		time.Sleep(time.Second) // audits that want a snapshot at the same moment try again
		synctest.Wait()
		assert.Len(r, lists, 8)
		close(release)
		require.NoError(r, <-done)
		assert.Len(r, lists, 20)
	})
}

// TestRunOfInformer: Run audits all sources of an informer, and follows their changes.
func TestRunOfInformer(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		r.follow("a")
		r.run()
		var reports []string
		ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		done := later(func() error {
			return audit.Run(ctx, r.informer, audit.RunOptions{Every: time.Minute, OnReport: func(report audit.Report, err error) {
				assert.NoError(r, err)
				reports = append(reports, report.String())
			}})
		})
		time.Sleep(30 * time.Minute)
		r.follow("b")
		require.ErrorIs(r, <-done, context.DeadlineExceeded)
		assert.Equal(r, "*v1.Pod: 0 objects of 1 source, by versions: as on the server", reports[0])
		assert.Equal(r, "*v1.Pod: 0 objects of 2 sources, by versions: as on the server", reports[len(reports)-1])
	})
}

// TestSetOf: Of returns the Set of an informer of New, in which sources can be put.
func TestSetOf(t *testing.T) {
	inBubble(t, kinformer.Options{}, func(r *rig) {
		set, ok := sources.Of(r.informer)
		require.True(r, ok)
		r.write("a", "1", "x")
		set.Put("a", r.asks("a", ""))
		r.run()
		assert.Equal(r, []string{"a/1"}, r.stored())
		_, ok = sources.Of(r.set.Source("a"))
		assert.False(r, ok)
		_, ok = sources.Of(nil)
		assert.False(r, ok)
	})
}

// TestNamesOfSources: every line of a source's reflector names the source, as its errors do.
func TestNamesOfSources(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinformer.Options{})
		r.follow("a")
		r.forbid("b")
		ctx, lines := testkit.Loud(t, 2)
		ctx, stop := context.WithCancel(ctx)
		done := later(func() error { r.informer.RunWithContext(ctx); return nil })
		synctest.Wait()
		told := lines.Take()
		for _, state := range []string{"started", "listing"} {
			for _, name := range []string{"a", "b"} {
				assert.Len(t, testkit.About(`"type"="*v1.Pod of source `+name+`"`, testkit.About(`"state"="`+state+`"`, told)), 1, state)
			}
		}
		err := statusOf(r.set.Source("b")).LastError
		require.ErrorContains(t, err, "failed to list *v1.Pod of source b: ")
		assert.True(t, apierrors.IsForbidden(err))
		stop()
		<-done
	})
}
