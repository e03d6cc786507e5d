// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checker holds informers to their contract: order, no loss, nothing invented, and in the
// end a store that equals the server. It serves informers of both libraries, and imports neither.
//
// A Ledger keeps what the server has acknowledged. A Replica is a handler that checks what it is
// told, and Reads checks what one reader is shown, both against the Ledger if there is one. Compare
// holds a store and its indices against a quorum LIST.
//
//	order   a call about an object that does not follow from the one before, or comes after the end
//	lost    an acknowledged state was not told, though no list skipped it
//	content an object that nobody wrote, or one that is not what was acknowledged at its version
//	back    a read is older than an earlier one of the same reader, whichever methods they were
//	mixed   a read shows states of different moments, or an index has what does not belong there
package checker
