// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// TestPause: the wait for a newer version only reads the version, and takes no snapshot, which may
// delay events. A version that the server does not know is tried again after half a minute. A pause
// ends with the informer.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, contents, journal := time.Now(), &store.Contents{}, reflector.NewJournal()
		contents.Init(nil, table.Options{})
		turnTo := func(version string) { contents.Replace(maps.All(map[string]any{}), 0, version) }
		turnTo("5")
		time.AfterFunc(10*time.Second+time.Millisecond, func() { turnTo("6") })
		a := &auditor{Informer: &door.Informer{Report: journal, Applied: contents.Table.RV}}
		expired := apierrors.NewResourceExpired("too old")
		assert.NoError(t, a.pause(t.Context(), expired, "5", began))
		assert.Equal(t, 11*time.Second, time.Since(began))
		assert.NoError(t, a.pause(t.Context(), expired, "6", began))
		assert.Equal(t, 101*time.Second, time.Since(began))
		assert.NoError(t, a.pause(t.Context(), ErrUnvouched, "6", began))
		assert.Equal(t, 102*time.Second, time.Since(began))
		tooLarge := cachetest.TooLargeResourceVersion(9, 6)
		assert.NoError(t, a.pause(t.Context(), tooLarge, "6", time.Now().Add(-10*time.Second)))
		assert.Equal(t, 122*time.Second, time.Since(began))
		assert.NoError(t, a.pause(t.Context(), tooLarge, "6", time.Now().Add(-43*time.Second)))
		assert.Equal(t, 122*time.Second, time.Since(began), "the client has asked for long enough")
		running, cancel := whileRunning(t.Context(), a.Informer)
		defer cancel()
		journal.End()
		assert.ErrorIs(t, a.pause(running, expired, "6", began), ErrEnded)
		assert.Equal(t, 122*time.Second, time.Since(began))
	})
}

// TestRelistRefused: a relist that the informer refuses, because it has stopped meanwhile, is not
// reported as requested.
func TestRelistRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(cachetest.Of(), &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		informer.RunWithContext(ctx)
		a := &auditor{Informer: door.Of(informer)}
		assert.Error(t, a.repair(t.Context()))
		assert.False(t, a.report.Relisted)
	})
}

// TestStartMeanwhile: an informer that did not run when an audit began is not audited, even if it
// has synced meanwhile: its request options were not known.
func TestStartMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(cachetest.Of(testkit.Pod("a", "")), &corev1.Pod{}, 0, nil)
		known := door.Of(informer)
		defer testkit.InBackground(t, informer.RunWithContext)()
		synctest.Wait()
		require.True(t, informer.HasSynced())
		_, err := tryState(known)
		assert.ErrorIs(t, err, ErrUnsynced)
		_, err = Once(t.Context(), informer, Options{})
		assert.NoError(t, err, "the next one")
	})
}

// TestRepairedMeanwhile: the findings of an audit that began before another audit's repair are
// dropped.
func TestRepairedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h history
		note := func(took time.Duration) {
			h.note(inspect.AuditResult{Outcome: outcomeDifferent, At: time.Now(), Took: took}, map[Kind]int{Stale: 1}, 0)
		}
		h.noteRepaired()
		time.Sleep(time.Second)
		note(2 * time.Second)
		n, _ := h.Differing()
		assert.Zero(t, n)
		assert.EqualValues(t, 1, h.Stats().Ended[outcomeDifferent])

		note(time.Second / 2)
		n, _ = h.Differing()
		assert.Equal(t, 1, n)
	})
}
