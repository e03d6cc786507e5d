// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

// TestWished: the next whole state after a wish, and only that one, is taken over without trust in
// what the sink has; a doubt that comes with the wish is heard as well.
func TestWished(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		var handler testkit.Handled
		server := &testkit.Server{
			NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))),
			OnWatch: testkit.Watches(testkit.Sent(testkit.Added("b", "7")), testkit.ErrExpired),
		}
		sink, relister := &warySink{Sink: Foreign(&testkit.StoreLog{})}, &Relister{}
		r := New(Options{
			ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: sink, Relister: relister,
			Backoff: testkit.Second(), OnError: toldTo(&handler),
		})
		defer testkit.InBackground(t, r.Run)()
		synctest.Wait()
		relister.Relist()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"5 distrusts false", "5 distrusts true", "5 distrusts false"}, sink.published)
		assert.Equal(t, []error{testkit.ErrExpired}, handler.Errors())
	})
}

// TestBecause: a wish is why a watch has ended, but where there is something to be told.
func TestBecause(t *testing.T) {
	ctx, relister := t.Context(), &Relister{}
	assert.Equal(t, errStopped, relister.because(ctx, errStopped))
	relister.Relist()
	assert.Equal(t, errAsked, relister.because(ctx, errStopped))
	assert.Equal(t, errAsked, relister.because(ctx, errClosed))
	doubt, resync := &tap.Doubt{Why: "as the test wants"}, &resyncError{cause: errClosed}
	assert.Equal(t, error(doubt), relister.because(ctx, doubt))
	assert.Equal(t, error(resync), relister.because(ctx, resync))
	wanted, newest := relister.begins()
	assert.True(t, wanted)
	assert.False(t, newest)
	assert.Equal(t, errStopped, relister.because(ctx, errStopped))
}

// TestRelistNewest: a call is answered by a state that is asked for after it.
func TestRelistNewest(t *testing.T) {
	relister := &Relister{}
	relister.begins()
	relister.answered()()
	before := relister.RelistNewest()
	assert.False(t, before())
	_, newest := relister.begins()
	assert.True(t, newest)
	meanwhile := relister.RelistNewest()
	relister.answered()()
	assert.True(t, before())
	assert.False(t, meanwhile())
	assert.True(t, relister.isWanted())
	_, newest = relister.begins()
	assert.True(t, newest)
	relister.answered()()
	assert.True(t, meanwhile())
	_, newest = relister.begins()
	assert.False(t, newest)
}
