// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/reflector"
)

// errAsksNoMore refuses what only an informer that runs can do.
var errAsksNoMore = errors.New("the informer has stopped and sends no more requests")

// AheadPause is the least time from one list at a version that the server does not know to the next
// one: an API server that merely lags behind has caught up by then. Only tests of real servers
// change it, before an audit begins.
var AheadPause = 30 * time.Second

// Relist has the informer request the whole state again, of each of its sources that has not stopped
// if it has several.
func (i *Informer) Relist() error {
	if err := i.asksNothing(); err != nil {
		return err
	}
	if i.Parts == nil {
		i.Relister.Relist()
		return nil
	}
	for _, part := range i.Parts() {
		_ = part.Relist() // one that has stopped tells so by its status
	}
	return nil
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// cached one. The function that it returns reports whether the answer is in the store.
func (i *Informer) RelistNewest() (stored func() bool, err error) {
	if err := i.asksNothing(); err != nil {
		return nil, err
	}
	return i.Relister.RelistNewest(), nil
}

// asksNothing returns why nothing is requested any more, or ever; nil: it is.
func (i *Informer) asksNothing() error {
	switch status := i.Report.Status(); {
	case status.Phase == reflector.Stopped:
		return errAsksNoMore
	case status.Unfit != nil:
		return fmt.Errorf("nothing can be requested: %w", status.Unfit)
	default:
		return nil
	}
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
