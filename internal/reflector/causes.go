// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// Why the whole state is asked for again, besides what causes say.
const (
	againRefused  = "refused"  // the server does not know the version that a watch-list was to begin at
	againWatch    = "watch"    // a watch failed, or could not be opened
	againFailed   = "failed"   // the last attempt failed
	againFallback = "fallback" // a LIST, in place of a watch-list that failed
	againDecoding = "decoding" // what was decoded directly is in doubt
	againPanic    = "panic"    // the ListerWatcher has panicked
	againAsked    = "asked"    // somebody has asked for that
)

// cause is why a request has failed, or a watch has ended.
type cause struct {
	word     string // for the log
	is       func(error) bool
	ordinary bool // a watch that ends so has not failed
	again    bool // it is also why the whole state is asked for again; else that is againWatch
	detail   bool // watches that end so are counted as "error"
}

// causes are all of them. The first one that fits an error is its cause.
var causes = []cause{
	{word: "stopped", is: isErr(errStopped), ordinary: true},
	{word: "closed", is: isErr(errClosed), ordinary: true},
	{word: "idle", is: isErr(errIdle), ordinary: true},
	{word: againAsked, is: isErr(errAsked), ordinary: true, again: true},
	{word: againDecoding, is: isA[*tap.Doubt], again: true},
	{word: "resync", is: isA[*resyncError], again: true},
	{word: "very-short", is: isA[*clientgo.VeryShortWatchError]},
	{word: "expired", is: isExpired, again: true},
	{word: "throttled", is: apierrors.IsTooManyRequests},
	{word: "internal-error", is: apierrors.IsInternalError},
	{word: "connection", is: isOutOfReach},
	{word: "unauthorized", is: apierrors.IsUnauthorized, detail: true},
	{word: "forbidden", is: apierrors.IsForbidden, detail: true},
	{word: "not-found", is: apierrors.IsNotFound, detail: true},
	{word: againRefused, is: isTooLarge, detail: true},
	{word: "silent", is: isErr(errSilent), detail: true},
	{word: "error", is: func(error) bool { return true }},
}

func isErr(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func causeOf(err error) cause {
	return causes[slices.IndexFunc(causes, func(c cause) bool { return c.is(err) })]
}

// againAfter says why the whole state is asked for again, if it is, after a watch that ended with
// err, or could not be opened.
func againAfter(err error) string {
	if c := causeOf(err); c.again {
		return c.word
	}
	return againWatch
}

// endReason says in a word why a watch has ended.
func endReason(err error) string {
	if c := causeOf(err); !c.detail {
		return c.word
	}
	return "error"
}
