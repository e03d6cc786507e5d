// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRelistIsTheCauseOfAWatchEnd: a relist request is the reason for the end of a watch, except for ends that must be
// reported.
func TestRelistIsTheCauseOfAWatchEnd(t *testing.T) {
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

// TestRelistNewest: only a list that begins after a call answers it.
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

// warySink records, for each stage that is published, whether it was told to distrust the sink's
// objects.
type warySink struct {
	Sink
	published []string
}

func (s *warySink) Stage(o event.Staging) Stage {
	return &waryStage{Stage: s.Sink.Stage(o), sink: s, distrusts: o.Distrust}
}

type waryStage struct {
	Stage
	sink      *warySink
	distrusts bool
}

func (s *waryStage) Publish(version string) error {
	s.sink.published = append(s.sink.published, fmt.Sprintf("%s distrusts %v", version, s.distrusts))
	return s.Stage.Publish(version)
}

// TestDoubtedWatches: neither a watch that cannot be trusted, wherever that is detected, nor a relist
// request is a failure. The next list, and only that one, is taken without trust in the sink's
// objects.
func TestDoubtedWatches(t *testing.T) {
	testkit.Reports(t)
	doubt := &tap.Doubt{Why: "as the test wants"}
	doubted := watch.Event{Type: watch.Error, Object: doubt}
	for name, first := range map[string]any{
		"of an open watch":                 testkit.Sent(testkit.Added("b", "7"), doubted),
		"of its first event":               testkit.Sent(doubted),
		"of a watch that cannot be opened": doubt,
		"of somebody else":                 testkit.Sent(testkit.Added("b", "7")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var handler testkit.Handled
				server := &testkit.Server{
					NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"))),
					OnWatch: testkit.Watches(first, testkit.ErrExpired),
				}
				sink, relister := &warySink{Sink: Foreign(&testkit.StoreLog{})}, &Relister{}
				r := New(Options{ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: sink, Relister: relister, Backoff: testkit.Second(), OnError: toldTo(&handler)})
				defer testkit.InBackground(t, r.Run)()
				if synctest.Wait(); name == "of somebody else" {
					relister.Relist()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, []string{"5 distrusts false", "5 distrusts true", "5 distrusts false"}, sink.published)
				assert.Equal(t, []error{testkit.ErrExpired}, handler.Errors())
			})
		})
	}
}
