// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"time"

	"k8s.io/utils/clock"
)

// alarm rings once while it is armed.
type alarm struct {
	timer clock.Timer      // nil: not armed
	rings <-chan time.Time // delivers when it is time; nil, and so never ready, unless armed
}

// arm arms it on real time.
func (a *alarm) arm(after time.Duration) { a.armBy(clock.RealClock{}, after) }

func (a *alarm) armBy(c clock.Clock, after time.Duration) {
	a.disarm()
	a.timer = c.NewTimer(after)
	a.rings = a.timer.C()
}

func (a *alarm) disarm() {
	if a.timer != nil {
		a.timer.Stop()
		*a = alarm{}
	}
}
