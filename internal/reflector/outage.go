// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// outageWarning is the age from which an outage is worth a line in the log: a server that
	// restarts, or that fails over to another one, is mostly back by then. It is also how long the
	// line that it is over waits for the last reflector.
	outageWarning = 5 * time.Second
	// maxNamed is how many reflectors that line names.
	maxNamed = 10
	// lateAnswer is how long a request for a watch may take that an API server answers which was
	// there when the request was sent. Clients wait for longer on their own: client-go's repeats a
	// request whose connection breaks ten times, with a second between.
	lateAnswer = time.Second
)

// reach is what an outage says about the next request.
type reach int

const (
	settled reach = iota // it comes after a backoff
	gone                 // a request was not answered by the server itself, nor any since
	back                 // the server has answered since: it comes at once
)

// outage is the time in which a reflector is blind because it has lost its server: from the first
// request without an answer up to a new state, or a watch that goes on. It belongs to the machine's
// goroutine.
type outage struct {
	options *Options
	alarm   alarm   // for a line of the log, or for a watch that has lasted
	server  *server // nil: none was lost yet
	member  member  // of the server

	since  time.Time // when it was noticed; zero: there is none
	reach  reach
	lately time.Time // the last late answer; zero: there was none
	err    error     // the last one, if the last request got no answer
	opened time.Time // when a watch was opened that has not lasted yet; zero: none was
}

// asks notes that a request begins, or that a watch has ended. An answer from before says nothing
// about that.
func (o *outage) asks() { o.member.asked = time.Now() }

// note takes notice of an error, and reports whether the server is out of reach: else it has
// answered.
func (o *outage) note(ctx context.Context, err error) (on bool) {
	o.opened = time.Time{}
	if on = isOutOfReach(err); on {
		o.lost(ctx, err)
	} else {
		if isExpired(err) {
			o.late()
		}
		o.answered()
	}
	if !o.since.IsZero() {
		o.armWarning()
	}
	return on
}

// lost takes notice of a request without an answer.
func (o *outage) lost(ctx context.Context, err error) {
	if o.err = err; !isUnwilling(err) {
		o.reach = gone
	}
	o.meet(ctx, cmp.Or(hostOf(err), o.options.Journal.decoding.Host()))
	if o.since.IsZero() {
		o.since = time.Now()
		o.options.Journal.write(func(p *pages) { p.Outages = kept(p.Outages, Outage{Began: o.since}, keptOutages) })
		o.server.lose(&o.member)
		o.options.tell(ctx, stateOutage, "reason", causeOf(err).word)
	}
}

// hostOf returns the host and port that a request was sent to, as its error says, else "".
func hostOf(err error) string {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return ""
	}
	at, err := url.Parse(failed.URL)
	if err != nil {
		return ""
	}
	return at.Host
}

// meet has the outage be one of the server of a host, "": of the one that it was of so far.
func (o *outage) meet(ctx context.Context, host string) {
	if o.server != nil {
		if host == "" || host == o.server.host {
			return
		}
		o.sayReturned(ctx) // there may be nobody else to do so
		o.quit()
	}
	o.server = o.options.Servers.join(host)
	if !o.since.IsZero() {
		o.server.lose(&o.member)
	}
}

func (o *outage) quit() {
	if o.server != nil {
		o.options.Servers.leave(o.server, &o.member)
		o.server = nil
	}
}

// answered takes notice of an answer, whatever it says: the server is there.
func (o *outage) answered() {
	if o.err = nil; o.since.IsZero() {
		return
	}
	if o.reach == gone {
		o.reach = back
	}
	o.server.answered()
}

// late takes notice of an answer to a request for a watch. One that has come late is that of a
// server which is back, if there was none shortly before: else the server is slow. Lists say nothing
// of that, because they take as long as they are large.
func (o *outage) late() {
	if o.reach != settled || time.Since(o.member.asked) <= lateAnswer {
		return
	}
	if time.Since(o.lately) > backoffReset {
		o.reach = back
	}
	o.lately = time.Now()
}

// opens takes notice of an open watch. Servers say only then that its version has expired, so the
// outage is over once it has lasted.
func (o *outage) opens() {
	if !o.since.IsZero() {
		o.opened = time.Now()
		o.alarm.arm(veryShortWatch)
	}
}

// over takes notice that the reflector is fresh, since that time.
func (o *outage) over(ctx context.Context, since time.Time) {
	o.answered()
	if o.reach = settled; o.since.IsZero() {
		return
	}
	blind := since.Sub(o.since)
	o.options.tell(ctx, stateReachable, "outage", blind.Round(time.Millisecond))
	o.options.Journal.write(func(p *pages) {
		p.endOutage(since)
		p.Reconnects++
	})
	o.since, o.opened = time.Time{}, time.Time{}
	o.alarm.disarm()
	switch back, missing := o.server.find(&o.member, blind); {
	case back == 0:
	case missing == 0:
		o.sayReturned(ctx)
	default:
		o.alarm.arm(outageWarning)
	}
}

// end forgets the outage, because the reflector ends.
func (o *outage) end() {
	o.alarm.disarm()
	if !o.since.IsZero() {
		o.options.Journal.write(func(p *pages) { p.endOutage(time.Now()) })
		o.since = time.Time{}
	}
	o.quit()
}

// armWarning has the log hear of the outage when it is old enough, unless it has.
func (o *outage) armWarning() {
	if o.alarm.disarm(); !o.server.hasTold(&o.member) {
		o.alarm.arm(outageWarning - time.Since(o.since))
	}
}

// ring does what it is time for.
func (o *outage) ring(ctx context.Context) {
	if o.alarm.disarm(); !o.opened.IsZero() {
		o.over(ctx, o.opened)
		return
	}
	o.sayReturned(ctx)
	if !o.since.IsZero() {
		o.sayLost(ctx)
	}
}

// sayLost warns of the server, on behalf of all that have lost it and were not told of yet.
func (o *outage) sayLost(ctx context.Context) {
	names := o.server.warn()
	if len(names) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Warning: the server is out of reach, and caches get old", "server", o.server.host, "informers", len(names),
		"names", names[:min(len(names), maxNamed)], "outage", time.Since(o.since).Round(time.Millisecond), "err", o.err)
}

// sayReturned tells of all that are fresh again since the last such line.
func (o *outage) sayReturned(ctx context.Context) {
	blind, missing := o.server.returned()
	if len(blind) == 0 {
		return
	}
	for i := range blind {
		blind[i] = blind[i].Round(time.Millisecond)
	}
	klog.FromContext(ctx).Info(stateReachable.message, "state", stateReachable.word, "server", o.server.host, "informers", len(blind),
		"missing", missing, "shortest", blind[0], "median", blind[len(blind)/2], "longest", blind[len(blind)-1])
}

// returns reports whether the next request comes at once, as one does after an answer of a server
// that was gone.
func (o *outage) returns() bool {
	if o.reach != back {
		return false
	}
	o.reach = settled
	return true
}

// delay returns how long to wait for a server that is out of reach, with a whole state or without.
// One that says so itself is asked by each reflector as it would ask it alone.
func (o *outage) delay(synced bool) time.Duration {
	var status apierrors.APIStatus
	switch {
	case errors.As(o.err, &status):
		return o.options.Delay()
	case o.options.away != nil:
		return o.options.away()
	default:
		return o.server.turn(&o.member, synced)
	}
}

// waits has the answer of the server to another reflector end a pause, until done is called.
func (o *outage) waits(timer clock.Timer, length time.Duration) (done func()) {
	o.server.waits(&o.member, timer, length)
	return func() { o.server.goesOn(&o.member) }
}
