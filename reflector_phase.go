// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// reflectorPhase is what a reflector does at a moment, and a state of its machine.
type reflectorPhase string

const (
	// unstarted: nothing was done yet. No machine is in it.
	unstarted reflectorPhase = "new"
	// listing: a LIST is in flight, or waits for its turn; its result replaces the store's content.
	listing reflectorPhase = "listing"
	// streaming: a watch-list stream fills a staging area, which replaces the store's content at the end mark.
	streaming reflectorPhase = "streaming"
	// watching: a watch is being opened or followed; its events go to the store in their order, in
	// batches if it takes those.
	watching reflectorPhase = "watching"
	// backingOff: nothing is in flight; the machine waits for pause.length, then goes to pause.resume.
	backingOff reflectorPhase = "backing off"
	// stopped: the context ended, a decision wants it, or the only round is over. The last state.
	stopped reflectorPhase = "stopped"
)

// reflectorMode is how a reflector takes over the whole state.
type reflectorMode string

const (
	// byChoice: by watch-list if the feature gate is on and the client does not deny it, unless watch-lists turn out not
	// to come to their end, else by LIST.
	byChoice reflectorMode = ""
	// byList: by LIST.
	byList reflectorMode = "list"
	// byWatchList: by watch-list, and by LIST in a round in which that fails.
	byWatchList reflectorMode = "watch-list"
)

// outcome is what the work in a phase has led to.
type outcome struct {
	next  reflectorPhase // where the round goes on; "": it is over
	after bool           // the backoff
	err   error          // why, if the round is over or waits; nil: for no reason that anybody has to hear of
}

// goOn is the outcome of a phase after which the round goes on in another one.
func goOn(next reflectorPhase) outcome { return outcome{next: next} }

// tryLater is the outcome of a phase that failed with err, so that the round goes on after the backoff.
func tryLater(next reflectorPhase, err error) outcome {
	return outcome{next: next, after: true, err: err}
}

// endRound is the outcome of a phase after which the whole state is needed again.
func endRound(err error) outcome { return outcome{err: err} }
