// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
)

var (
	// ErrBusy says that a batch is on its way into the store, or to the handlers.
	ErrBusy = errors.New("the informer is storing a batch")
	// ErrUnvouched says that the store has no version that the server has vouched for.
	ErrUnvouched = errors.New("the server does not vouch for the version of what is stored")
	// ErrUnsynced says that nothing can be compared yet, and ErrEnded that nothing is brought up to
	// date any more.
	ErrUnsynced = errors.New("the informer has not synced")
	ErrEnded    = errors.New("the informer has stopped")

	// errAsksNoMore refuses what only an informer that runs can do.
	errAsksNoMore = errors.New("the informer has stopped and sends no more requests")
)

// AheadPause is the least time from one list at a version that the server does not know to the next
// one: an API server that merely lags behind has caught up by then. Only tests of real servers
// change it, before an audit begins.
var AheadPause = 30 * time.Second

// State is what an informer has stored, between two batches. The caller closes the snapshot.
type State struct {
	*table.Snapshot
	// Received is what the server said of the objects that do not show it any more. Nobody else
	// has the map.
	Received store.Received
}

// Origin returns what the server said of an object of the state.
func (s *State) Origin(key string, obj any) event.Origin { return s.Received.Origin(key, obj) }

// State returns what is stored. It waits for nobody: the error is ErrBusy, ErrUnvouched,
// ErrUnsynced, also if the informer did not run when Of was called, or ErrEnded.
func (i *Informer) State() (State, error) {
	switch {
	case i.Report.HasEnded():
		return State{}, ErrEnded
	case i.Requests == nil, !i.HasSynced():
		return State{}, ErrUnsynced
	case !i.Delivery.TryLock():
		return State{}, ErrBusy
	}
	defer i.Delivery.Unlock()
	if rv := i.Table.RV(); !i.Applier.Vouched() || rv == "" || rv == "0" { // as after a write to the store
		return State{}, ErrUnvouched
	}
	return State{Snapshot: i.Table.Snapshot(), Received: maps.Clone(i.Applier.Received)}, nil
}

// Relist has the informer request the whole state again.
func (i *Informer) Relist() error {
	if i.hasStopped() {
		return errAsksNoMore
	}
	i.Relister.Relist()
	return nil
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// cached one. The function that it returns reports whether the answer is in the store.
func (i *Informer) RelistNewest() (stored func() bool, err error) {
	if i.hasStopped() {
		return nil, errAsksNoMore
	}
	return i.Relister.RelistNewest(), nil
}

func (i *Informer) hasStopped() bool { return i.Report.Status().Phase == reflector.Stopped }

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
