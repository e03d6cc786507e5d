// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/reflector"
)

// Doing says what a reflector does, and for how long.
func Doing(phase string, since time.Time, age time.Duration) string {
	switch {
	case phase == "" || phase == string(reflector.Unstarted):
		return "never run"
	case since.IsZero():
		return phase
	default:
		return fmt.Sprintf("%s for %v", phase, Shortly(age))
	}
}

// Hanging says which request hangs.
func Hanging(r *reflector.Status) string {
	return fmt.Sprintf("%s hangs, nothing has come for %v", r.Hangs, Shortly(r.HangsFor))
}

// Counted returns a number and a noun in its form for it.
func Counted(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// Shortly rounds a duration to what is worth reading.
func Shortly(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
