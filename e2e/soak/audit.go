// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kinformer/cache/audit"
)

// auditPause is the mean time between two audits of an informer.
const auditPause = 2 * time.Second

// audit audits the informer all the time, whatever happens to it and to the server: nothing may
// ever differ, as nobody lies to it. What cannot be audited, because the server is away, or has
// forgotten the version, is counted.
func (f *follower) audit(ctx context.Context, random *rand.Rand) {
	for wait(ctx, time.Duration(random.Int64N(int64(2*auditPause)))) {
		report, err := audit.Once(ctx, f.informer, audit.Options{Depth: audit.Depth(random.IntN(2))})
		switch {
		case ctx.Err() != nil:
			return
		case len(report.Found) > 0:
			f.report.violation("audit", f.name, "%v (error: %v)", report, err)
		case err != nil:
			f.report.count("audits: not possible", 1)
		default:
			f.report.count("audits", 1)
			f.report.count("audits: objects", int64(report.Digest.Objects))
		}
	}
}
