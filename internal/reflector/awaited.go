// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import "time"

const (
	// hangLimit is how long a list may bring no byte, and a watch may take to open: kube-apiserver
	// itself ends a list after a minute, and answers a watch at once.
	hangLimit = time.Minute
	// unseenLimit is how long a page of a list may take whose bytes nobody sees: long enough for
	// one that arrives, however slowly.
	unseenLimit = 5 * time.Minute
	// bookmarkLimit is how long a watch may bring nothing, if bookmarks have come before: servers
	// send one each minute.
	bookmarkLimit = 5 * time.Minute
)

// awaited is what a server has to send next. The zero value is nothing, which never hangs.
type awaited struct {
	what  string        // it belongs to, in words
	since time.Time     // the last sign of life
	limit time.Duration // of the time since then
}

// hangs reports whether it should have come by now.
func (a awaited) hangs(now time.Time) bool { return a.what != "" && now.Sub(a.since) >= a.limit }

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
