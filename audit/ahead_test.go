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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
)

const isAhead = "an audit has found the cache ahead of the server, which does not know its resourceVersion"

// restored follows a source of two pods until it has 52, and then puts the backup of the two back.
func restored(t *testing.T, options ...cache.Option) *rig {
	t.Helper()
	src := pods("a", "b")
	backup := src.ResourceVersion()
	r := follow(t, src, src, nil, options...)
	for i := range 50 {
		src.Create(testkit.Pod(fmt.Sprint("new", i), "1"))
	}
	r.calm()
	src.Rewind(backup)
	r.calm()
	return r
}

// degraded returns what is wrong with the rig's informer.
func (r *rig) degraded(t *testing.T) []string {
	status, err := cache.StatusOf(r)
	require.NoError(t, err)
	return status.Degraded
}

// TestAhead: a cache whose server was taken back to a backup does not notice that for days. An
// audit does, by three lists in a minute, and a relist of the most recent state repairs it, though
// that is older than the cached one.
func TestAhead(t *testing.T) {
	for name, options := range map[string][]cache.Option{
		"list":       {cache.WithListMode(cache.ListModeList)},
		"watch-list": {cache.WithListMode(cache.ListModeWatchList)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := restored(t, options...)
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

// repairedFromBackup has an audit repair the informer, which is at a version that the server does
// not know.
func (r *rig) repairedFromBackup(t *testing.T, version string) {
	before := len(r.Requests())
	report := r.once(t, audit.Options{Repair: audit.Relist})
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
	all, err := inspect.Of(r)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"different": 2}, all.Audits.Ended)
	assert.Equal(t, map[string]int64{"ahead": 2}, all.Audits.Found)

	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	assert.ErrorIs(t, cache.WaitForVersion(ctx, r, version), context.DeadlineExceeded, "a version of before the restore is one to come")
	for fmt.Sprint(r.ResourceVersion()) != version {
		r.Put(testkit.Pod("a", fmt.Sprint(r.ResourceVersion())))
	}
	assert.NoError(t, cache.WaitForVersion(t.Context(), r, version))
}

// TestAheadAtTheSecondLook: what was found before the server was taken back counts no more.
func TestAheadAtTheSecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a", "b")
		r := follow(t, src, src, nil)
		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		time.AfterFunc(time.Second/2, func() { src.Rewind(2) })
		report := r.once(t, audit.Options{Repair: audit.Relist})
		assert.Equal(t, map[audit.Kind]int{audit.Ahead: 1}, report.Confirmed)
		assert.Equal(t, report.Confirmed, report.Found)
		assert.True(t, report.Repaired)
		assert.Len(t, r.GetStore().List(), 1)
	})
}

// TestSeldomUnknown: a server that knows one of three versions, and has forgotten that, is not
// behind the cache.
func TestSeldomUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, nil)
		src.FailNext(cachetest.VerbList, cachetest.TooLargeResourceVersion(9, 3), cachetest.Expired(), cachetest.TooLargeResourceVersion(9, 3))
		report, err := audit.Once(t.Context(), r, audit.Options{Repair: audit.Relist})
		assert.ErrorIs(t, err, audit.ErrExpired)
		assert.False(t, report.Equal())
		assert.Empty(t, report.Found)
		assert.False(t, report.Relisted)
	})
}

// TestRepairThatFails: an informer that does not get the state, or a wrong one, stays degraded.
func TestRepairThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		testkit.Reports(t)
		r := restored(t, cache.WithListMode(cache.ListModeList))
		tooLarge := cachetest.TooLargeResourceVersion(99, 3)
		r.FailNext(cachetest.VerbList, tooLarge, tooLarge, tooLarge)
		for range 100 {
			r.FailNext(cachetest.VerbList, apierrors.NewForbidden(corev1.Resource("pods"), "", nil))
		}
		report, err := audit.Once(t.Context(), r, audit.Options{Repair: audit.Relist})
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
		}}, nil, cache.WithListMode(cache.ListModeList))
		report := r.once(t, audit.Options{Repair: audit.Relist})
		assert.Equal(t, []string{"missing ns/x"}, found(report))
		assert.True(t, report.Relisted)
		assert.False(t, report.Repaired)
		assert.Len(t, r.degraded(t), 1)
	})
}
