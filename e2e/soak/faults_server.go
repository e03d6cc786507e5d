// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"time"
)

// serverFaults are what happens to the server.
var serverFaults = []fault{
	{"server: killed and restarted", func(ctx context.Context, r *run, random *rand.Rand) error {
		return r.cluster.restart(ctx, true, between(random, 0+1, 2*time.Second), nil)
	}},
}
