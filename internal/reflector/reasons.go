// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache/internal/tap"
)

// Why the whole state is asked for again.
const (
	againExpired  = "expired"  // the server has forgotten the version of the watch
	againRefused  = "refused"  // it does not know the version that a watch-list was to begin at
	againWatch    = "watch"    // a watch failed otherwise, or could not be opened
	againFailed   = "failed"   // the last attempt failed
	againFallback = "fallback" // a LIST, in place of a watch-list that failed
	againDecoding = "decoding" // what was decoded directly is in doubt
	againResync   = "resync"   // the sink could not be resynced
	againPanic    = "panic"    // the ListerWatcher has panicked
	againAsked    = "asked"    // somebody has asked for that
)

// againAfter says why the whole state is asked for again, if it is, after a watch that ended with
// err, or could not be opened.
func againAfter(err error) string {
	var doubt *tap.Doubt
	var resync *resyncError
	switch {
	case errors.Is(err, errAsked):
		return againAsked
	case errors.As(err, &doubt):
		return againDecoding
	case errors.As(err, &resync):
		return againResync
	case isExpired(err):
		return againExpired
	default:
		return againWatch
	}
}

// isOrdinary reports whether a watch that ends so is none that failed.
func isOrdinary(err error) bool {
	return errors.Is(err, errStopped) || errors.Is(err, errClosed) || errors.Is(err, errIdle) || errors.Is(err, errAsked)
}

// endReason says in a word why a watch has ended.
func endReason(err error) string {
	var doubt *tap.Doubt
	var resync *resyncError
	switch {
	case errors.Is(err, errStopped):
		return "stopped"
	case errors.Is(err, errClosed):
		return "closed"
	case errors.Is(err, errIdle):
		return "idle"
	case errors.Is(err, errAsked):
		return "asked"
	case errors.As(err, &doubt):
		return "decoding"
	case errors.As(err, &resync):
		return "resync"
	case isShort(err):
		return "very-short"
	case isExpired(err):
		return "expired"
	case apierrors.IsTooManyRequests(err):
		return "throttled"
	case isInternalError(err):
		return "internal-error"
	case isOutOfReach(err):
		return "connection"
	default:
		return "error"
	}
}
