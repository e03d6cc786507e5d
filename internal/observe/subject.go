// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
)

// Of returns what is to be known of an informer or controller, however it is handed out; nil for
// what is none of ours. The root package sets it before anything runs.
var Of func(informer any) *Subject

// Subject is what somebody looks at.
type Subject struct {
	Informer any    // a cache.Controller, without wrappers
	Number   uint64 // among all that ran; 0 before Run
	Resource string // what logs call its objects
	Example  any    // of them
	Identity clientgo.InformerNameAndResource

	Report       *reflector.Journal
	Table        *table.Table  // nil if the store is not ours
	Disconnected func() int    // counts the handlers that were too slow to stay; nil: it has none
	Memo, Audits *atomic.Value // what the packages inspect and audit keep
}

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
