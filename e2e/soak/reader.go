// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/view"
)

// read reads all objects again and again until ctx ends, by a list, an index or a snapshot.
func (f *follower) read(ctx context.Context, random *rand.Rand, pause time.Duration) {
	report, n := f.report.of(f.name+" reader"), int64(0)
	r, indexer := checker.NewReads(f.kind.ledger, report), f.informer.GetIndexer()
	for f.eager.Load() && ctx.Err() == nil || wait(ctx, pause) {
		at := r.Position(indexer.LastStoreSyncResourceVersion())
		switch random.IntN(3) {
		case 0:
			r.Whole(indexer.List(), at)
		case 1:
			objects, err := indexer.ByIndex(cache.NamespaceIndex, follow.Namespace)
			if err != nil {
				report("mixed", err.Error())
			}
			r.Whole(objects, at)
		default:
			if s, err := view.Of(indexer); err == nil { // client-go's has none
				r.Exactly(s)
				s.Close()
			}
		}
		n++
	}
	f.report.count("reads", n)
}
