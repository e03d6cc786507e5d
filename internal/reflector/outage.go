// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// outageWarning is the age from which an outage is worth a line in the log: a server that restarts,
// or that fails over to another one, is mostly back by then.
const outageWarning = 5 * time.Second

// outage is the time in which a reflector cannot reach its server. One that lasts makes two lines
// in the log: that it lasts, and that it is over. It belongs to the machine's goroutine.
type outage struct {
	*Options

	since  time.Time     // when it was noticed; zero: there is none
	err    error         // the last one
	lasted time.Duration // the last one that is over
	worth  bool          // it is not over and lasts for long enough
	unsaid bool          // the log was not told that it is over

	timer  *time.Timer      // nil: not armed
	rings  <-chan time.Time // delivers when it is time to call ring; nil for most of the time
	ticket uint64           // of a line that waits for its turn, else 0
}

// note takes notice of an error, and reports whether the server is out of reach: else it has
// answered.
func (o *outage) note(ctx context.Context, err error) (on bool) {
	if !isOutOfReach(err) {
		o.over(ctx)
		return false
	}
	o.err = err
	if o.since.IsZero() {
		o.since = time.Now()
		o.Report.outOfReach(o.since)
		o.tellUnsaid(ctx)
		o.tell(ctx, stateOutage, "The server is out of reach", "reason", troubleReason(err))
		o.disarm()
		o.ticket, o.worth = 0, false // the line about the end of the last one, if it waits, is counted by a later line
		o.arm(outageWarning)
	}
	return true
}

// over takes notice of an answer.
func (o *outage) over(ctx context.Context) {
	if o.since.IsZero() {
		return
	}
	o.lasted = o.Report.inReach(time.Now(), true)
	o.since, o.err = time.Time{}, nil
	o.disarm()
	o.ticket, o.unsaid = 0, true
	if !o.worth {
		o.tellUnsaid(ctx)
		return
	}
	o.ring(ctx)
}

// end forgets the outage, because the reflector ends.
func (o *outage) end() {
	o.disarm()
	if !o.since.IsZero() {
		o.Report.inReach(time.Now(), false)
		o.since = time.Time{}
	}
}

func (o *outage) arm(after time.Duration) {
	o.timer = time.NewTimer(after)
	o.rings = o.timer.C
}

func (o *outage) disarm() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer, o.rings = nil, nil
	}
}

// ring says what there is to say, when it is its turn.
func (o *outage) ring(ctx context.Context) {
	o.disarm()
	o.worth = !o.since.IsZero()
	lines := o.Outages
	if o.ticket == 0 {
		o.ticket = lines.ask()
	}
	wait, others, mine := lines.turn(o.ticket, time.Now())
	if wait > 0 {
		o.arm(wait)
		return
	}
	o.ticket = 0
	switch {
	case mine:
		o.say(ctx, others)
	case !o.worth:
		o.tellUnsaid(ctx) // a line of another reflector has counted it
	}
}

// tellUnsaid tells those who want each change of state what other lines have not said: that the
// last outage is over.
func (o *outage) tellUnsaid(ctx context.Context) {
	if o.unsaid {
		o.unsaid = false
		o.tell(ctx, stateReachable, "The server is in reach again", "outage", o.lasted.Round(time.Millisecond))
	}
}

func (o *outage) say(ctx context.Context, others uint64) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "reflector", o.Name, "type", o.TypeDescription, "linesOfOthers", others)
	if o.since.IsZero() {
		o.unsaid = false
		logger.Info("The server is in reach again", "state", stateReachable, "outage", o.lasted.Round(time.Millisecond))
	} else {
		logger.Info("Warning: the server is out of reach, and the cache gets old", "outage", time.Since(o.since).Round(time.Millisecond), "err", o.err)
	}
}

// emptyWatch is the type of what client-go returns where it got no connection, or not in time.
var emptyWatch = reflect.TypeOf(watch.NewEmptyWatch())

// isConnected reports whether a watch that was opened came from a server.
func isConnected(w watch.Interface) bool { return reflect.TypeOf(w) != emptyWatch }
