// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"os"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
)

// KillSwitch is the environment variable that turns off all taps of a process.
const KillSwitch = "KINFORMER_DIRECT"

// killSwitch logs what KillSwitch does, once for each of its two lines.
type killSwitch struct{ off, unknown sync.Once }

// ofProcess is the switch of the process.
var ofProcess killSwitch

// isOff reports whether the value of KillSwitch turns off taps. The first such value, and the first value
// that is neither on nor off, are logged. A value of the second kind turns off nothing.
func (k *killSwitch) isOff(value string) bool {
	off, understood := event.SwitchedOff(value)
	switch {
	case off:
		k.off.Do(func() {
			klog.Background().Info("The environment turns direct decoding off: clients decode", "variable", KillSwitch, "value", value)
		})
	case !understood:
		k.unknown.Do(func() {
			event.Warn(klog.Background(), 0, "A variable of the environment has an unknown value, and turns nothing off",
				"variable", KillSwitch, "value", value, "off", strings.Join(event.OffWords, ", "), "on", strings.Join(event.OnWords, ", "))
		})
	}
	return off
}

// isKilled reports whether KillSwitch turns off the taps of the process.
func isKilled() bool { return ofProcess.isOff(os.Getenv(KillSwitch)) }
