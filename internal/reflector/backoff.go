// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// The delays grow from 0.8 s to a cap of 30 s, doubled by the jitter at most, so that a sick
	// server sees one request in 30-60 s from each reflector, a fiftieth of what it gets without
	// backoff. Every 2 minutes a new series begins; that of a lane, 2 minutes after the last wait.
	backoffFirst  = 800 * time.Millisecond
	backoffCap    = 30 * time.Second
	backoffFactor = 2.0
	backoffJitter = 1.0
	backoffReset  = 2 * time.Minute
)

func defaultBackoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: backoffFirst,
		Cap:      backoffCap,
		Steps:    int(math.Ceil(float64(backoffCap) / float64(backoffFirst))), // more than it takes to reach the cap
		Factor:   backoffFactor,
		Jitter:   backoffJitter,
	}
}
