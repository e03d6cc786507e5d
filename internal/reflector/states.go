// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

const (
	// stateLines is the verbosity from which each change of a reflector's state is a line in the
	// log.
	stateLines = 2
	// blindLines is the verbosity from which that holds also in an outage, of which one line for
	// all reflectors tells, and for lists after the first.
	blindLines = 3
)

// The states that these lines tell of, under the key "state". docs/observability.md has them.
const (
	stateStarted   = "started"
	stateListing   = "listing"
	stateSynced    = "synced"
	stateWaiting   = "waiting"
	stateDegraded  = "degraded"
	stateRecovered = "recovered"
	stateOutage    = "outage"
	stateReachable = "reachable"
	stateHangs     = "hangs"
	stateGoesOn    = "goes-on"
	stateStopped   = "stopped"
)

// tell writes the line of a change of state.
func (o *Options) tell(ctx context.Context, state, message string, keysAndValues ...any) {
	level := stateLines
	if o.Report.isBlind() {
		level = blindLines
	}
	o.tellAt(ctx, level, state, message, keysAndValues...)
}

// tellAt is tell, from a verbosity on.
func (o *Options) tellAt(ctx context.Context, level int, state, message string, keysAndValues ...any) {
	logger := klog.FromContext(ctx).V(level)
	if !logger.Enabled() {
		return
	}
	about := []any{"state", state, "reflector", o.Name, "type", o.TypeDescription}
	logger.WithCallDepth(2).Info(message, append(about, keysAndValues...)...)
}

// asking is how and why the whole state is asked for.
type asking struct {
	how   Mode
	again string
}

// trouble is the time in which requests fail although the server answers. It makes two lines in the
// log, one when it begins and one when it is over; an outage has its own. It belongs to the
// machine's goroutine.
type trouble struct {
	*Options
	since time.Time // zero: there is none
	quiet bool      // it has begun in an outage
}

// note takes notice of a failure other than an outage.
func (t *trouble) note(ctx context.Context, reason string) {
	if t.since.IsZero() {
		t.since, t.quiet = time.Now(), t.Report.isBlind()
		t.tell(ctx, stateDegraded, "Requests fail", "reason", reason)
	}
}

// over takes notice of a watch that is open, after so many failures.
func (t *trouble) over(ctx context.Context, failures int) {
	if !t.since.IsZero() {
		level := stateLines
		if t.quiet {
			level = blindLines
		}
		t.tellAt(ctx, level, stateRecovered, "Requests succeed again", "degraded", time.Since(t.since).Round(time.Millisecond), "failures", failures)
		t.since = time.Time{}
	}
}

// troubleReason says in a word why a request, or a watch, has failed.
func troubleReason(err error) string {
	switch {
	case apierrors.IsUnauthorized(err):
		return "unauthorized"
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsNotFound(err):
		return "not-found"
	case isTooLarge(err):
		return "refused"
	case errors.Is(err, errSilent):
		return "silent"
	default:
		return endReason(err)
	}
}
