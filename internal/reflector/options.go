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

	"github.com/kinformer/cache/internal/tap"
)

const (
	// leastWatchTimeout is the shortest watch that is asked for. Each end of a watch costs the
	// server a new one, and shorter timeouts were seen to hurt control planes; it is client-go's
	// value, and servers are sized for it.
	leastWatchTimeout = 5 * time.Minute

	// internalErrorReset is how long after an internal error the next one counts as the first of a
	// new series.
	internalErrorReset = time.Minute

	// veryShortWatch is the age below which a watch that closes without an event is taken for a
	// fault of the server.
	veryShortWatch = time.Second

	// watchMisses is how many watches in a row may not be served until the whole state is asked
	// for.
	watchMisses = 3

	// streamStrikes is how many watch-list streams in a row may end without their end mark until a
	// round falls back to LIST: one is an accident, three are a proxy or a server that cannot
	// stream.
	streamStrikes = 3
	// listPreference is how long LIST replaces watch-lists after that, if all had stayed open: long
	// enough to spare a server that cannot stream the attempts of each round, short enough to
	// notice that it was upgraded.
	listPreference = 10 * time.Minute
	// A watch-list stream that waits for its end mark is looked at each streamSilenceStep; a step
	// without an event is logged, and streamSilenceLimit without one ends the stream, unless an
	// option says otherwise.
	streamSilenceStep  = 10 * time.Second
	streamSilenceLimit = 2 * time.Minute

	// maxRetryAfter bounds what a server's Retry-After is good for: a wrong one must not cost
	// hours.
	maxRetryAfter = 5 * time.Minute
)

// Options is what a reflector is made of. ListerWatcher and sink are required, every other zero
// value works. The reflector keeps the options and does not change them.
type Options struct {
	// Name identifies the reflector in logs and errors; empty: CallsiteName.
	Name string
	// TypeDescription says in words what is reflected; empty: Journal.Name says it.
	TypeDescription string
	// Resource is what is asked for, if that is known before the first request.
	Resource schema.GroupVersionResource
	// ListerWatcher must be the one the user gave, not a wrapper: it is asked whether it can stream
	// lists.
	ListerWatcher clientgo.ListerWatcher
	// ExpectedType is an example of the objects to admit; nil admits any. An unstructured example
	// with apiVersion and kind admits only objects of that kind.
	ExpectedType any
	// Namespace is that of the objects to admit; "": any.
	Namespace string
	// Sink is where everything goes.
	Sink Sink

	// ResyncPeriod is the time between two looks at ShouldResync while watching; 0: never.
	ResyncPeriod time.Duration
	// ShouldResync reports whether a period that has passed leads to a resync of the sink; nil:
	// always.
	ShouldResync func() bool

	// Mode is how the whole state is taken over.
	Mode Mode
	// PageSize forces lists into pages of that many objects; 0: client-go's rules decide.
	PageSize int64
	// StreamSilence is how long a watch-list stream may send nothing before its end mark; 0:
	// streamSilenceLimit.
	StreamSilence time.Duration
	// Turns holds a token for each reflector that may take over the whole state now. Who does takes
	// one, and puts it back. nil: there is no cap.
	Turns chan struct{}
	// Spread bounds the random pauses before the first request, and before those that follow the
	// first answer of a server that was out of reach; 0: there is none before the first request,
	// and the others take up to returnSpread.
	Spread time.Duration

	// MinWatchTimeout raises the lower bound of the server-side watch timeout; below 5 minutes it
	// has no effect.
	MinWatchTimeout time.Duration
	// IdleTimeout is how long a watch may be silent; 0: for ever.
	IdleTimeout time.Duration
	// MaxInternalErrorRetry is how long internal errors of a watch are answered by another watch
	// instead of a list.
	MaxInternalErrorRetry time.Duration
	// Backoff replaces the default delays (0.8 s doubling to 30 s, jittered, anew every 2 minutes).
	Backoff *wait.Backoff
	// Delay returns how long to wait before the next attempt; nil: as backoff says.
	Delay wait.DelayFunc
	// Reached is the version that the reflector has come to before, as in another run; "": none.
	Reached string

	// Decoding is how objects are made of what the server sends. Its ledger is the journal's.
	Decoding tap.Options

	// Decide says what to do about an error after which the reflector would wait, the attempts-th
	// since the last success; synced reports whether a whole state was ever published. nil: the
	// zero decision. It must not wait.
	Decide func(ctx context.Context, err error, attempts int, synced bool) Decision
	// OnError hears of each error that ends a round; nil: nobody does.
	OnError func(ctx context.Context, f Failure)
	// OnStop hears that a decision has stopped the reflector; nil: nobody does. It may panic.
	OnStop func(ctx context.Context, err error)
	// Relister takes wishes for the whole state; nil: nobody has any.
	Relister *Relister
	// Journal is where the reflector tells what it does; nil: one that nobody reads.
	Journal *Journal

	// Logger replaces klog.Background during construction; a running reflector takes the one of its
	// context.
	Logger *klog.Logger
	// Clock drives everything but the delay between two rounds, which, as in client-go, is real;
	// nil: the real clock.
	Clock clock.Clock
	// spawn runs a function in a goroutine of its own; nil: by a go statement.
	spawn func(func())
	// Servers are those that reflectors have lost; nil: those of the process.
	Servers *Servers
	// away returns how long to wait before the next attempt to reach a server that does not answer;
	// nil: those of a server agree on that.
	away wait.DelayFunc
}

// Decision says what to do about an error. The zero value: try again after the backoff.
type Decision struct {
	Stop     bool          // for good
	After    time.Duration // until the next attempt; 0: the backoff
	Expected bool          // a state to wait through, and nothing for the log but once
}

// Failure is an error that ended a round.
type Failure struct {
	Err      error
	Expected bool     // the decision about it says so
	Of       *Options // what the reflector is made of, with defaults
	Version  string   // where it is
}

// withDefaults fills what the zero value leaves open.
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
	o.Tell(o.Journal)
	if o.spawn == nil {
		o.spawn = func(f func()) { go f() }
	}
	return o
}

// spread returns a random part of the time over which reflectors come back to a server.
func (o *Options) spread() time.Duration { return rand.N(cmp.Or(o.Spread, returnSpread)) }

// watchTimeout draws the timeout of a watch, from a range so that many reflectors do not reconnect
// at once, in the form of ListOptions.TimeoutSeconds.
func (o *Options) watchTimeout() *int64 {
	least := max(o.MinWatchTimeout, leastWatchTimeout)
	drawn := int64((least + rand.N(least)).Seconds())
	return &drawn
}

// Tell notes in a journal what is known before the first request.
func (o *Options) Tell(j *Journal) {
	j.setGiven(given{o.TypeDescription, tap.Target{Resource: o.Resource, Namespace: o.Namespace}, o.ExpectedType})
}

// Transformed returns the options for objects that a transform function may write to: its results
// are not remembered, because cached ones have readers, and parts are shared only if it copies.
func (o Options) Transformed(copies bool) Options {
	d := &o.Decoding
	d.Remember = false
	if d.Share && !copies {
		d.Share, d.Unshared = false, "the transform function may change what it is given: see kinformer.Decoding.TransformCopies and Drop"
	}
	return o
}

// WarnOfUnshared logs that equal parts of objects are not shared, although that was asked for.
func (o *Options) WarnOfUnshared(logger klog.Logger, name string) {
	if why := o.Decoding.Unshared; why != "" {
		logger.Info("Warning: objects do not share equal parts, although ShareParts is set", "type", name, "reason", why)
	}
}

// state is a change of state that lines of the log tell of, under the key "state".
type state struct{ word, message string }

// docs/observability.md has them.
var (
	stateStarted   = state{"started", "Reflector started"}
	stateListing   = state{"listing", "Asking for the whole state"}
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

// stateLevel is the verbosity from which a change of state is a line of the log: 2, and 3 in an
// outage, of which one line for all reflectors tells.
func (o *Options) stateLevel() int {
	if o.Journal.Status().OutOfReach {
		return 3
	}
	return 2
}

// tell writes the line of a change of state.
func (o *Options) tell(ctx context.Context, s state, keysAndValues ...any) {
	o.tellAt(ctx, o.stateLevel(), s, keysAndValues...)
}

// tellAt is tell, from a verbosity on.
func (o *Options) tellAt(ctx context.Context, level int, s state, keysAndValues ...any) {
	about := append([]any{"state", s.word}, o.about()...)
	klog.FromContext(ctx).V(level).WithCallDepth(2).Info(s.message, append(about, keysAndValues...)...)
}

// say writes another line, from a verbosity on.
func (o *Options) say(ctx context.Context, level int, message string, keysAndValues ...any) {
	klog.FromContext(ctx).V(level).WithCallDepth(1).Info(message, append(o.about(), keysAndValues...)...)
}

// about returns the keys and values by which a line of the log says whose it is.
func (o *Options) about() []any {
	all := []any{"reflector", o.Name, "type", o.Journal.Name()}
	if server := o.Journal.Server(); server != "" {
		all = append(all, "server", server)
	}
	return all
}
