// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"

	"k8s.io/klog/v2"
)

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
	about := []any{"state", s.word, "reflector", o.Name, "type", o.TypeDescription}
	klog.FromContext(ctx).V(level).WithCallDepth(2).Info(s.message, append(about, keysAndValues...)...)
}

// say writes another line, from a verbosity on.
func (o *Options) say(ctx context.Context, level int, message string, keysAndValues ...any) {
	about := []any{"reflector", o.Name, "type", o.TypeDescription}
	klog.FromContext(ctx).V(level).WithCallDepth(1).Info(message, append(about, keysAndValues...)...)
}
