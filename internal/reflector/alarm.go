// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import "time"

// alarm rings once, on real time, while it is armed.
type alarm struct {
	timer *time.Timer      // nil: not armed
	rings <-chan time.Time // delivers when it is time; nil, and so never ready, unless armed
}

func (a *alarm) arm(after time.Duration) {
	a.disarm()
	a.timer = time.NewTimer(after)
	a.rings = a.timer.C
}

func (a *alarm) disarm() {
	if a.timer != nil {
		a.timer.Stop()
		*a = alarm{}
	}
}
