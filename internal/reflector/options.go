// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// leastWatchTimeout is the shortest timeout of a watch. Each end of a watch costs the server a
	// new one, and shorter timeouts were seen to overload control planes. It is client-go's value,
	// and servers are sized for it.
	leastWatchTimeout = 5 * time.Minute

	// internalErrorReset is the time after an internal error from which the next one begins a new
	// series.
	internalErrorReset = time.Minute

	// veryShortWatch is the age below which a watch that closes without an event counts as a fault
	// of the server.
	veryShortWatch = time.Second

	// watchMisses is the number of consecutive watches that the server may fail to serve before a
	// relist.
	watchMisses = 3

	// streamStrikes is the number of consecutive watch-lists that may end without their end mark
	// before a round falls back to LIST: one is an accident, three mean that a proxy or a server
	// cannot stream.
	streamStrikes = 3
	// listPreference is how long LIST then replaces watch-lists, if all of them had stayed open. It
	// spares a server that cannot stream the attempts of each round, and is short enough to notice
	// that the server was upgraded.
	listPreference = 10 * time.Minute
	// A watch-list without its end mark is checked every streamSilenceStep. A step without an event
	// is logged, and streamSilenceLimit without one ends the stream, unless an option says
	// otherwise.
	streamSilenceStep  = 10 * time.Second
	streamSilenceLimit = 2 * time.Minute

	// maxRetryAfter bounds the Retry-After of a server: a wrong one must not cost hours.
	maxRetryAfter = 5 * time.Minute
)

// Options configures a reflector. ListerWatcher and Sink are required; every other zero value
// works. The reflector keeps the options and does not change them.
type Options struct {
	// Name identifies the reflector in logs and errors; by default CallsiteName.
	Name string
	// TypeDescription names the objects in logs; by default Journal.Name chooses the name.
	TypeDescription string
	// Source is the name of the source, if it is one of several; "" otherwise.
	Source string
	// Resource is the requested resource, if it is known before the first request.
	Resource schema.GroupVersionResource
	// ListerWatcher must be the user's, not a wrapper: it is checked for the ability to stream
	// lists.
	ListerWatcher clientgo.ListerWatcher
	// Part is the shard to request; nil: all objects of the ListerWatcher, which may be a shard, too.
	Part *shard.Range
	// ExpectedType is an example of the objects to admit; nil admits any. An unstructured example
	// with apiVersion and kind admits only objects of that kind.
	ExpectedType any
	// Namespace is the namespace of the objects to admit; "" admits any.
	Namespace string
	// Sink receives the objects.
	Sink Sink

	// ResyncPeriod is the time between two calls of ShouldResync while watching; 0 means never.
	ResyncPeriod time.Duration
	// ShouldResync reports whether the end of a period leads to a resync of the sink; nil means
	// always.
	ShouldResync func() bool

	// Mode is the way in which the collection is listed.
	Mode Mode
	// PageSize forces lists into pages of that many objects; 0 means client-go's rules.
	PageSize int64
	// StreamSilence is how long a watch-list may send nothing before its end mark; 0 means
	// streamSilenceLimit.
	StreamSilence time.Duration
	// Turns holds a token for each list that may run now. A reflector takes one for the length of
	// its list. nil means no limit.
	Turns chan struct{}
	// Spread bounds the random delay before the first request, and the delay of requests that
	// follow the first answer of a server that was out of reach. If it is 0 the first request is
	// not delayed, and the others by up to returnSpread.
	Spread time.Duration

	// MinWatchTimeout raises the lower bound of the server-side watch timeout; below 5 minutes it
	// has no effect.
	MinWatchTimeout time.Duration
	// IdleTimeout is how long a watch may be silent; 0 means for ever.
	IdleTimeout time.Duration
	// MaxInternalErrorRetry is how long internal errors of a watch, unless they ask for a delay,
	// lead to another watch instead of a list.
	MaxInternalErrorRetry time.Duration
	// Backoff replaces the default delays (0.8 s doubling to 30 s, jittered, reset every 2
	// minutes).
	Backoff *wait.Backoff
	// Delay returns the delay before the next attempt; by default from Backoff.
	Delay wait.DelayFunc
	// Reached is the version that a previous reflector has reached; "" means none.
	Reached string

	// Decoding configures direct decoding. Its ledger is the journal's.
	Decoding tap.Options

	// Decide returns what to do after an error, before the reflector would wait. nil means the zero
	// Decision. It must not block.
	Decide func(ctx context.Context, of Undecided) Decision
	// OnError is called with each error that ends a round; it may be nil.
	OnError func(ctx context.Context, f Failure)
	// OnStop is called when a Decision has stopped the reflector, or its informer cannot run. For a
	// source of several, it is OnSourceStop. Both may be nil, and may panic.
	OnStop, OnSourceStop func(ctx context.Context, of Halted)
	// Relister takes requests for relists; nil means that there are none.
	Relister *Relister
	// Journal receives status and history of the reflector; nil means a private one.
	Journal *Journal

	// Logger replaces klog.Background during construction; a running reflector uses the logger of
	// its context.
	Logger *klog.Logger
	// Clock drives everything except the delay between two rounds, which is real time, as in
	// client-go; nil means the real clock.
	Clock clock.Clock
	// spawn runs a function in a new goroutine; nil means a go statement.
	spawn func(func())
	// Servers are the lost servers that reflectors share; nil means those of the process.
	Servers *Servers
	// away returns the delay before the next attempt to reach a server that does not answer; nil
	// means that the reflectors of a server share their delays.
	away wait.DelayFunc
}

// Decision says what to do after an error. The zero value means to try again after the backoff.
type Decision struct {
	Stop     bool          // whether the reflector stops for good
	After    time.Duration // the delay until the next attempt; 0 means the backoff
	Expected bool          // whether the error is a state to wait out: it is logged only once
}

// Undecided is an error for which Decide returns what to do.
type Undecided struct {
	Err      error
	Attempts int    // the number of failures since the last success
	Synced   bool   // whether a state was ever published
	Source   string // as in Options
}

// Halted is the end of an informer, or of one of its sources.
type Halted struct {
	Source string // as in Options
	Err    error  // names the objects
}

// Failure is an error that ended a round.
type Failure struct {
	Err      error
	Expected bool     // whether the Decision says so
	Of       *Options // the reflector's options, with defaults
	Version  string   // the version that the reflector has reached
}

// withDefaults returns o with defaults for zero values.
func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = CallsiteName()
	}
	o.Clock = cmp.Or(o.Clock, clock.Clock(clock.RealClock{}))
	if o.away = o.Delay; o.away == nil && o.Backoff != nil {
		o.away = o.Backoff.DelayWithReset(o.Clock, backoffReset)
	}
	o.Backoff = cmp.Or(o.Backoff, defaultBackoff())
	if o.Delay == nil {
		o.Delay = o.Backoff.DelayWithReset(o.Clock, backoffReset)
	}
	background := klog.Background()
	o.Logger, o.Servers = cmp.Or(o.Logger, &background), cmp.Or(o.Servers, &processServers)
	o.Journal, o.Relister = cmp.Or(o.Journal, NewJournal()), cmp.Or(o.Relister, &Relister{})
	o.Describe(o.Journal)
	if o.spawn == nil {
		o.spawn = func(f func()) { go f() }
	}
	return o
}

// spread returns a random part of the time over which reflectors return to a server.
func (o *Options) spread() time.Duration { return rand.N(cmp.Or(o.Spread, returnSpread)) }

// watchTimeout returns a random timeout of a watch, for ListOptions.TimeoutSeconds. It is random so
// that many reflectors do not reconnect at once.
func (o *Options) watchTimeout() *int64 {
	least := max(o.MinWatchTimeout, leastWatchTimeout)
	drawn := int64((least + rand.N(least)).Seconds())
	return &drawn
}

// Describe records in j the properties of the requests that are known before the first one.
func (o *Options) Describe(j *Journal) {
	of := configured{o.TypeDescription, tap.Target{Resource: o.Resource, Namespace: o.Namespace}, o.ExpectedType, o.Source}
	j.write(func(p *journalState) { p.of = of })
}

// Transformed returns the options for objects that a transform function may modify. The results of
// decoding are not remembered, because cached objects have readers. Parts are shared only if the
// function copies.
func (o Options) Transformed(copies bool) Options {
	d := &o.Decoding
	d.Remember = false
	if d.Share && !copies {
		d.Share, d.Unshared = false, "the transform function may change what it is given: see kinformer.Decoding.TransformCopies and Drop"
	}
	return o
}

// Guarded returns the options for objects of which none may be written that has only some of its fields. stored returns
// the object of a name in the store.
func (o Options) Guarded(stored func(namespace, name string) (obj any, exists bool)) Options {
	o.Decoding.Stored = stored
	return o
}

// Keeps returns what is kept of objects; nil: all.
func (o *Options) Keeps() tap.Keeper { return o.Decoding.Keep }

// WarnOfUnshared logs why equal parts of objects are not shared, if sharing was requested.
func (o *Options) WarnOfUnshared(logger klog.Logger, name string) {
	if why := o.Decoding.Unshared; why != "" {
		event.Warn(logger, 0, "Objects do not share equal parts, although ShareParts is set", "type", name, "reason", why)
	}
}

// state is a change of state in the log, under the key "state".
type state struct{ word, message string }

// docs/observability.md documents them.
var (
	stateStarted   = state{"started", "Reflector started"}
	stateListing   = state{"listing", "Requesting the full list"}
	stateSynced    = state{"synced", "Caches populated"}
	stateWaiting   = state{"waiting", "Waiting for a list slot"}
	stateDegraded  = state{"degraded", "Requests fail"}
	stateRecovered = state{"recovered", "Requests succeed again"}
	stateOutage    = state{"outage", "The server is out of reach"}
	stateReachable = state{"reachable", "The server is in reach again"}
	stateHangs     = state{"hangs", "A request hangs"}
	stateGoesOn    = state{"goes-on", "Nothing hangs any more"}
	stateStopped   = state{"stopped", "Reflector stopped"}
)

// stateLevel returns the verbosity of a change of state: 2, and 3 in an outage, which has one line
// for all reflectors.
func (o *Options) stateLevel() int {
	if o.Journal.Status().Outage.GoesOn() {
		return 3
	}
	return 2
}

// logState logs a change of state.
func (o *Options) logState(ctx context.Context, s state, keysAndValues ...any) {
	o.logStateAt(ctx, o.stateLevel(), s, keysAndValues...)
}

// logStateAt is logState with a given verbosity.
func (o *Options) logStateAt(ctx context.Context, level int, s state, keysAndValues ...any) {
	about := append([]any{"state", s.word}, o.about()...)
	klog.FromContext(ctx).V(level).WithCallDepth(2).Info(s.message, append(about, keysAndValues...)...)
}

// spell is the time in which a reflector is in a state, of which the log has the beginning and the end.
type spell struct {
	since time.Time // zero if it is not
	level int       // the verbosity of the lines
}

func (s *spell) goes() bool { return !s.since.IsZero() }

// begin logs the beginning and its reason, unless the spell goes on.
func (s *spell) begin(ctx context.Context, o *Options, since time.Time, as state, reason string) {
	if !s.goes() {
		s.since, s.level = since, o.stateLevel()
		o.logStateAt(ctx, s.level, as, "reason", reason)
	}
}

// end logs the end, and the length under the key length, if the spell goes on.
func (s *spell) end(ctx context.Context, o *Options, at time.Time, as state, length string, keysAndValues ...any) {
	if s.goes() {
		o.logStateAt(ctx, s.level, as, append([]any{length, at.Sub(s.since).Round(time.Millisecond)}, keysAndValues...)...)
		*s = spell{}
	}
}

// log logs another message with a given verbosity.
func (o *Options) log(ctx context.Context, level int, message string, keysAndValues ...any) {
	klog.FromContext(ctx).V(level).WithCallDepth(1).Info(message, append(o.about(), keysAndValues...)...)
}

// warn logs a warning.
func (o *Options) warn(ctx context.Context, message string, keysAndValues ...any) {
	event.Warn(klog.FromContext(ctx), 1, message, append(o.about(), keysAndValues...)...)
}

// about returns the keys and values that identify the reflector in a log line.
func (o *Options) about() []any {
	all := []any{"reflector", o.Name, "type", o.Journal.Name()}
	if server := o.Journal.Server(); server != "" {
		all = append(all, "server", server)
	}
	return all
}
