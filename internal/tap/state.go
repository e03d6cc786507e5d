// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import "sync/atomic"

// State describes whether an informer decodes directly, with what result.
type State struct {
	On       bool   // the last list or watch was decoded directly
	Encoding string // of the last list or watch; "" if not decoded directly
	Why      string // the reason why On is false; "" if On is true or nothing was requested yet
	Reason   string // a word for Why, of the few below and of the engine's

	Decoded     int64            // objects decoded directly
	Reused      int64            // objects found by their bytes, and not decoded
	GivenUp     map[string]int64 // objects the decoder gave up, by reason; there are few reasons
	Verified    int64            // objects that both decoded
	Differences int64            // those that differed

	Skips    bool   // Options.SkipUndecodable
	Shares   bool   // objects that are decoded directly share equal parts
	Unshared string // the reason why none do, although it was requested

	Texts Texts // of the process, while in use
	Parts Parts // of the process, while in use

	Checked   int64  // parts that were decoded again to check them
	WrittenTo int64  // those that a program had modified
	Written   string // the first of them, by type and path, without a value
	Unguarded string // why partial objects may be written although they must not; "": they may not, or there are none
}

// Texts describes the table of strings, which the objects of all informers share.
type Texts struct {
	Count, Bytes, Limit int64 // Bytes includes the table itself
}

// Parts describes the table of parts.
type Parts struct {
	Count, Bytes, Limit int64 // Bytes includes the table itself and an estimate of the parts
	Hits, Misses        int64 // of all informers
}

// The words for State.Why that mean something outside of the engine. docs/direct.md lists all.
const (
	SwitchedOff = "switched-off" // by the user
	LogLevel    = "log-level"    // klog writes bodies
	NoTransport = "no-transport" // no transport of package direct sends the requests
	Suspended   = "suspended"    // the client decodes the next list
	GaveUp      = "gave-up"      // off for good: most objects cannot be decoded directly
	OffForGood  = "off-for-good"
	OffForWatch = "off-for-a-watch" // the client decodes the rest of the watch
)

// notImported is State.Why in a program that cannot decode directly.
const notImported = "package direct is not imported"

// InUse is set when a program makes a transport of package direct.
var InUse atomic.Bool

// IsSuspended reports whether the last list was in doubt, and nothing was decoded directly since.
func (s State) IsSuspended() bool { return s.Reason == Suspended }

// IsTurnedOff reports whether the engine was on, and has turned itself off, for good or for a watch, because of
// the objects that it received.
func (s State) IsTurnedOff() bool {
	return s.Reason == OffForGood || s.Reason == GaveUp || s.Reason == OffForWatch
}

// IsUnexpected reports whether the client decodes, for a reason that is not the choice of the user, in
// a program that has made a transport of package direct, or for an informer that was to share parts.
func (s State) IsUnexpected() bool {
	switch s.Reason {
	case "", SwitchedOff, LogLevel:
		return false
	default:
		return InUse.Load() || s.Shares || s.Unshared != ""
	}
}
