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

// errAsksNoMore is the error of operations that need a running informer.
var errAsksNoMore = errors.New("the informer has stopped and sends no more requests")

// AheadPause is the shortest time between two lists at a version that the server does not know: an
// API server that lags behind has caught up by then. Only tests of real servers change it, before
// an audit begins.
var AheadPause = 30 * time.Second

// Relist makes the informer list its objects again. If it has several sources, each source that has
// not stopped lists again.
func (i *Informer) Relist() error {
	if err := i.asksNothing(); err != nil {
		return err
	}
	if i.Parts == nil {
		i.Relister.Relist()
		return nil
	}
	for _, part := range i.Parts() {
		_ = part.Relist() // a source that has stopped says so in its status
	}
	return nil
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// cached one. stored reports whether the result is in the store.
func (i *Informer) RelistNewest() (stored func() bool, err error) {
	if err := i.asksNothing(); err != nil {
		return nil, err
	}
	return i.Relister.RelistNewest(), nil
}

// asksNothing returns an error if the informer will send no more requests, or never sends any.
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

// DescribePhase describes a reflector's phase and for how long it lasts.
func DescribePhase(phase string, since time.Time, age time.Duration) string {
	switch {
	case phase == "" || phase == string(reflector.Unstarted):
		return "never run"
	case since.IsZero():
		return phase
	default:
		return fmt.Sprintf("%s for %v", phase, Shortly(age))
	}
}

// Hanging describes the request that hangs.
func Hanging(r *reflector.Status) string {
	return fmt.Sprintf("%s hangs, nothing has come for %v", r.Hangs, Shortly(r.HangsFor))
}

// Counted returns a number with a noun, in the plural if necessary.
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

// Shortly rounds a duration for display.
func Shortly(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
