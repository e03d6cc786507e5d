// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

const (
	// outageWarning is the age from which an outage is logged as a warning: a server that restarts,
	// or fails over to another one, is usually back by then. It is also how long the line about the
	// end of an outage waits for the last reflector.
	outageWarning = 5 * time.Second
	// maxNamed is the largest number of reflectors that a line names.
	maxNamed = 10
	// lateAnswer is the longest time that a server that was up takes to answer a watch request. A
	// longer time means that the client has waited: after a broken connection client-go repeats a
	// request up to ten times, a second apart.
	lateAnswer = time.Second
)

// reach is the state of an outage that decides when the next request is sent.
type reach int

const (
	settled reach = iota // the next request is sent after a backoff
	gone                 // the server itself has not answered a request, nor any since
	back                 // the server has answered since; the next request is sent at once
)

// outage is the time in which a reflector's data may be stale because its server is out of reach:
// from the first request without an answer to a new state, or to a watch that continues. It belongs
// to the machine's goroutine.
type outage struct {
	options *Options
	alarm   alarm   // for a log line, or for a watch that has lasted
	server  *server // nil if none was lost yet
	member  member  // registered with the server

	blind  spell // since the outage was noticed
	reach  reach
	lately time.Time // the last late answer; zero if there was none
	err    error     // the error of the last request, if it got no answer
	opened time.Time // when a watch was opened that has not lasted yet; zero if there is none
}

// asks records that a request begins, or that a watch has ended. Earlier answers do not count for
// it.
func (o *outage) asks() { o.member.asked = time.Now() }

// note records an error, and reports whether the server is out of reach. If it is not, it has
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
	if o.blind.goes() {
		o.armWarning()
	}
	return on
}

// lost records a request without an answer.
func (o *outage) lost(ctx context.Context, err error) {
	if o.err = err; !isUnwilling(err) {
		o.reach = gone
	}
	o.meet(ctx, cmp.Or(hostOf(err), o.options.Journal.decoding.Host()))
	if !o.blind.goes() {
		now := time.Now()
		o.options.Journal.write(func(p *journalState) { p.Outages = appendBounded(p.Outages, Outage{Began: now}, maxOutages) })
		o.server.lose(&o.member)
		o.blind.begin(ctx, o.options, now, stateOutage, causeOf(err).word)
	}
}

// hostOf returns the host and port of the request in err, or "".
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

// meet assigns the outage to the server of host; "" leaves it with its current server.
func (o *outage) meet(ctx context.Context, host string) {
	if o.server != nil {
		if host == "" || host == o.server.host {
			return
		}
		o.logReturned(ctx) // other reflectors may not do so
		o.quit()
	}
	o.server = o.options.Servers.join(host)
	if o.blind.goes() {
		o.server.lose(&o.member)
	}
}

func (o *outage) quit() {
	if o.server != nil {
		o.options.Servers.leave(o.server, &o.member)
		o.server = nil
	}
}

// answered records any answer of the server.
func (o *outage) answered() {
	if o.err = nil; !o.blind.goes() {
		return
	}
	if o.reach == gone {
		o.reach = back
	}
	o.server.answered()
}

// late records an answer to a watch request. A late answer means that the server is back, unless
// there was one shortly before: then the server is slow. Lists do not count, because their time
// depends on their size.
func (o *outage) late() {
	if o.reach != settled || time.Since(o.member.asked) <= lateAnswer {
		return
	}
	if time.Since(o.lately) > backoffReset {
		o.reach = back
	}
	o.lately = time.Now()
}

// opens records that a watch was opened. Servers report only on an open watch that its version has
// expired, so the outage ends once the watch has lasted.
func (o *outage) opens() {
	if o.blind.goes() {
		o.opened = time.Now()
		o.alarm.arm(veryShortWatch)
	}
}

// over records that the reflector is up to date since the given time.
func (o *outage) over(ctx context.Context, since time.Time) {
	o.answered()
	if o.reach = settled; !o.blind.goes() {
		return
	}
	length := since.Sub(o.blind.since)
	o.blind.end(ctx, o.options, since, stateReachable, "outage")
	o.options.Journal.write(func(p *journalState) {
		p.endOutage(since)
		p.Reconnects++
	})
	o.opened = time.Time{}
	o.member.woken.Store(false)
	o.alarm.disarm()
	switch returned, missing := o.server.find(&o.member, length); {
	case returned == 0:
	case missing == 0:
		o.logReturned(ctx)
	default:
		o.alarm.arm(outageWarning)
	}
}

// end ends the outage because the reflector ends.
func (o *outage) end() {
	o.alarm.disarm()
	if o.blind.goes() {
		o.options.Journal.write(func(p *journalState) { p.endOutage(time.Now()) })
		o.blind = spell{}
	}
	o.quit()
}

// armWarning schedules the warning about the outage, unless it was logged.
func (o *outage) armWarning() {
	if o.alarm.disarm(); !o.server.isLogged(&o.member) {
		o.alarm.arm(outageWarning - time.Since(o.blind.since))
	}
}

// ring handles the alarm.
func (o *outage) ring(ctx context.Context) {
	if o.alarm.disarm(); !o.opened.IsZero() {
		o.over(ctx, o.opened)
		return
	}
	o.logReturned(ctx)
	if o.blind.goes() {
		o.logLost(ctx)
	}
}

// logLost logs a warning about the server, for all reflectors that lost it and were not named yet.
func (o *outage) logLost(ctx context.Context) {
	names := o.server.warn()
	if len(names) == 0 {
		return
	}
	event.Warn(klog.FromContext(ctx), 0, "The server is out of reach, and caches get old", "server", o.server.host, "informers", len(names),
		"names", names[:min(len(names), maxNamed)], "outage", time.Since(o.blind.since).Round(time.Millisecond), "err", o.err)
}

// logReturned logs which reflectors are up to date again since the last such line.
func (o *outage) logReturned(ctx context.Context) {
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

// returns reports whether the next request is sent at once, because a server that was gone has
// answered.
func (o *outage) returns() bool {
	if o.reach != back {
		return false
	}
	o.reach = settled
	return o.server == nil || o.server.returns(&o.member)
}

// listDelay returns the delay before the list that follows the first answer of a server.
func (o *outage) listDelay() time.Duration {
	if o.member.woken.Load() {
		return max(0, time.Until(o.member.listAt))
	}
	return o.options.spread()
}

// delay returns the delay before the next request to a server that is out of reach. If the server
// itself says that it cannot serve, each reflector uses its own backoff.
func (o *outage) delay() time.Duration {
	switch {
	case isUnwilling(o.err):
		return o.options.Delay()
	case o.options.away != nil:
		return o.options.away()
	default:
		return o.server.turn(&o.member)
	}
}

// waits lets an answer of the server to another reflector end a pause, until done is called.
func (o *outage) waits(timer clock.Timer, length time.Duration, lists bool) (done func()) {
	o.server.waits(&o.member, timer, length, lists)
	return func() { o.server.goesOn(&o.member) }
}

// lostName returns the name of the reflector for the line about an outage: the target of its first request, if it is
// known, else its own name.
func (o *Options) lostName() string {
	if target := o.Journal.decoding.Target(); !target.IsZero() {
		return target.String()
	}
	return o.Name
}
