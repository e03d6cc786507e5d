// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/world"
)

const nodes = 30

// meddler is a response that calls do at each flush.
type meddler struct {
	*httptest.ResponseRecorder
	do func()
}

func (m *meddler) Flush() { m.do() }

// TestNothingIsSentAfterACompaction checks that a watch sends neither changes nor bookmarks after a
// compaction, even before end is called: a client could continue from their versions.
func TestNothingIsSentAfterACompaction(t *testing.T) {
	for _, timeout := range []int{60, 600} { // before and after a bookmark
		synctest.Test(t, func(t *testing.T) {
			s, err := newServer(Config{Nodes: nodes, Seed: 1, MediaType: blank.Protobuf})
			require.NoError(t, err)
			shelf := s.world.Shelf(world.Leases)
			path := fmt.Sprintf("/?watch=true&timeoutSeconds=%d&resourceVersion=%d", timeout, shelf.Snapshot().Version)
			sent, next := httptest.NewRecorder(), time.Duration(0)
			w := &watcher{server: s, forms: s.forms[blank.Protobuf], of: world.Leases, w: &meddler{sent, func() {
				if next == 0 {
					shelf.Compact()
					next = s.world.Advance(time.Minute)
				}
			}}}
			assert.Error(t, w.watch(httptest.NewRequest(http.MethodGet, path, nil)))
			assert.Positive(t, shelf.Next(), "leases have changed")
			assert.Zero(t, sent.Body.Len())
			assert.Zero(t, s.noted()[world.Leases].Open)
		})
	}
}

// TestTimeStandsInAPause checks that a pause delays all later changes by its length.
func TestTimeStandsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(world.New(world.Config{Nodes: 100, Seed: 1}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); d.run(ctx) }()
		shelf := d.world.Shelf(world.Leases)
		for range 2 {
			stood := shelf.Next()
			time.Sleep(time.Hour)
			assert.Equal(t, stood, shelf.Next())
			d.resume()
			time.Sleep(time.Minute)
			d.pause()
			assert.InDelta(t, 600, shelf.Next()-stood, 100)
			var last int64
			for _, lease := range shelf.Snapshot().Objects {
				last = max(last, lease.Due)
			}
			assert.InDelta(t, time.Now().UnixNano(), last, float64(2*time.Second), "the last change is not late")
		}
		cancel()
		<-ended
	})
}
