// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

// Phase is what a reflector does at a moment, and a state of its machine.
type Phase string

const (
	// Unstarted: nothing was done yet. No machine is in it.
	Unstarted Phase = "new"
	// Waiting: a machine in Listing or Streaming waits for its turn. Only its Journal is in this
	// phase.
	Waiting Phase = "waiting for a list slot"
	// Listing: a LIST is in flight; its result replaces the store's content.
	Listing Phase = "listing"
	// Streaming: a watch-list stream fills a staging area, which replaces the store's content at
	// the end mark.
	Streaming Phase = "streaming"
	// Watching: a watch is being opened or followed; its events go to the store in their order, in
	// batches if it takes those.
	Watching Phase = "watching"
	// BackingOff: nothing is in flight; the machine waits for pause.length, then goes to
	// pause.resume.
	BackingOff Phase = "backing off"
	// Stopped: the context ended, a decision wants it, or the only round is over. The last state.
	Stopped Phase = "stopped"
)

// Mode is how a reflector takes over the whole state.
type Mode string

const (
	// ByChoice: by watch-list if the feature gate is on and the client does not deny it, unless
	// watch-lists turn out not to come to their end, else by LIST.
	ByChoice Mode = ""
	// ByList: by LIST.
	ByList Mode = "list"
	// ByWatchList: by watch-list, and by LIST in a round in which that fails.
	ByWatchList Mode = "watch-list"
)

// outcome is what the work in a phase has led to.
type outcome struct {
	next  Phase // where the round goes on; "": it is over
	after bool  // the backoff
	err   error // why, if the round is over or waits; nil: for no reason that anybody has to hear of
}

// goOn is the outcome of a phase after which the round goes on in another one.
func goOn(next Phase) outcome { return outcome{next: next} }

// tryLater is the outcome of a phase that failed with err, so that the round goes on after the
// backoff.
func tryLater(next Phase, err error) outcome {
	return outcome{next: next, after: true, err: err}
}

// endRound is the outcome of a phase after which the whole state is needed again.
func endRound(err error) outcome { return outcome{err: err} }
