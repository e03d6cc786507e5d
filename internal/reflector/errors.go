// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

var (
	// errStopped means that the context ended during a wait.
	errStopped = errors.New("reflector: stopped")
	// errClosed means that the server closed a watch without an error, which is the normal end of a
	// watch.
	errClosed = errors.New("watch closed")
	// errAsked means that a watch was ended for a relist.
	errAsked = errors.New("a relist was requested")
	// errAnew means that a watch was ended because the server begins its watches anew.
	errAnew = errors.New("the watch began anew")
	// errPanic means that a function of the user's panicked.
	errPanic = errors.New("panic")
	// errSilent means that a watch-list stream sent nothing for too long.
	errSilent = errors.New("watch-list stream is silent")
	// errIdle means that a watch sent nothing for too long.
	errIdle = errors.New("watch is silent")
	// errNoAnswer means that a request ended its goroutine instead of returning.
	errNoAnswer = errors.New("the ListerWatcher did not return")
	// ErrNoConnection means that client-go has opened a watch without a server: its connection
	// broke, or took too long.
	ErrNoConnection = errors.New("no connection for a watch, or not in time")
	// errNoStream means that a watch returned neither a stream nor an error.
	errNoStream = errors.New("the ListerWatcher returned no watch and no error")
	// errNoList means that a list returned neither a list nor an error.
	errNoList = errors.New("the ListerWatcher returned no list and no error")
	// errNothing means that a list is not known to be one; see fetched.isNothing.
	errNothing = errors.New("the answer has no items and no version: an error of a gateway with status 200?")
	// errMark means that the bookmark at the end of a watch-list has no version, although others had.
	errMark = errors.New("the bookmark at the end of the watch-list has no version")
	// errEndlessList means that a page of a list names itself as the next one. A page with other
	// items is not a repetition: fake ListerWatchers may use one token for all pages.
	errEndlessList = errors.New("a page has the continue token that was just used, so the list would never end: the server, or a proxy in between, repeats its answer")
)

// resyncError is an error of the store's Resync.
type resyncError struct{ cause error }

func (e *resyncError) Error() string { return "resync: " + e.cause.Error() }

func (e *resyncError) Unwrap() error { return e.cause }

// isExpired reports whether the server has forgotten a version: reason Expired, or, before
// Kubernetes 1.18, Gone.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// tooLargeVersion is the text by which servers before Kubernetes 1.19 say that a version is ahead
// of them: in a cause without a type or, before 1.17, only in the message.
const tooLargeVersion = "Too large resource version"

// isTooLarge reports whether the server has not reached a version yet.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsTimeout(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Message == tooLargeVersion {
			return true
		}
	}
	return strings.Contains(status.Status().Message, tooLargeVersion)
}

// isRefused reports whether the server cannot serve the requested version, but may be able to serve
// its most recent state.
func isRefused(err error) bool { return isExpired(err) || isTooLarge(err) }

// isBusy reports whether the server is down or throttles. The reflector's state remains valid, so
// it waits and repeats the same request.
func isBusy(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// asksToWait reports whether the server has asked to wait before the next request, perhaps without saying
// how long.
func asksToWait(err error) bool {
	_, asked := apierrors.SuggestsClientDelay(err)
	return asked
}

// isA reports whether err is, or wraps, an error of type E.
func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isBroken reports whether an open watch has ended without a reason from the server. An internal
// error is such a reason, unless the client made it from a broken connection.
func isBroken(err error) bool {
	return utilnet.IsHTTP2ConnectionLost(err) || isCutOff(err) || isOutOfReach(err) && !apierrors.IsInternalError(err)
}

// cutOff are prefixes of the errors of net/http and the operating system for a connection, or a
// stream in it, that breaks while a watch reads. For the others that client-go recognizes, the
// watch just ends.
var cutOff = []string{"http2: client connection force closed", "stream error: stream ID ", "read tcp ", "write tcp "}

// isCutOff reports whether an error event means that the client could not continue to read, rather
// than that it could not decode. By then only the text of the error is left.
func isCutOff(err error) bool {
	return apierrors.HasStatusCause(err, event.CauseWatchDecoding) &&
		slices.ContainsFunc(cutOff, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// errorOf returns the error for the object of an Error event. For an object that is not a Status
// the error has only its type.
func errorOf(obj runtime.Object) error {
	if event.IsNil(obj) {
		return errors.New("watch error event without an object")
	}
	if doubt, ok := obj.(*tap.Doubt); ok {
		return doubt
	}
	err := apierrors.FromObject(obj)
	if isA[*apierrors.UnexpectedObjectError](err) {
		return fmt.Errorf("watch error event with an object of type %T", obj)
	}
	return event.RedactedAnswer(err)
}

// isUnwilling reports whether the error of a server that is out of reach came from the server
// itself, not from a proxy in its place.
func isUnwilling(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (status.Status().Code == http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests)
}

// isOutOfReach reports whether err means that no server answered, or that the server can serve no
// request now. It is false for answers about the request, such as 403, 404 or 410, for answers that
// cannot be decoded, and for errors of the sink.
func isOutOfReach(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return (code >= http.StatusInternalServerError || code == http.StatusTooManyRequests) && !isTooLarge(err)
	}
	if isA[*resyncError](err) {
		return false
	}
	return isA[net.Error](err) || // *url.Error implements it, and http.Client returns no other type
		errors.Is(err, ErrNoConnection) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// Reasons for a relist, in addition to those in causes.
const (
	againRefused  = "refused"  // the server does not know the version of a watch-list
	againWatch    = "watch"    // a watch failed, or could not be opened
	againFailed   = "failed"   // the last attempt failed
	againFallback = "fallback" // a LIST replaces a watch-list that failed
	againDecoding = "decoding" // directly decoded objects are in doubt
	againPanic    = "panic"    // the ListerWatcher panicked
	againAsked    = "asked"    // a caller of Relister requested it
	againLoss     = "loss"     // an answer would remove most of the store
	againAnew     = "anew"     // the server begins its watches anew
)

// cause is a reason for the failure of a request or the end of a watch.
type cause struct {
	word     string // for the log
	is       func(error) bool
	ordinary bool // a watch that ends so has not failed
	again    bool // whether word is also the reason for the relist; else that is againWatch
	detail   bool // whether watches that end so are counted as "error"
}

// causes lists every cause. The first one whose is matches an error is its cause.
var causes = []cause{
	{word: againPanic, is: isErr(errPanic), detail: true},
	{word: "stopped", is: isErr(errStopped), ordinary: true},
	{word: "closed", is: isErr(errClosed), ordinary: true},
	{word: "idle", is: isErr(errIdle), ordinary: true},
	{word: againAsked, is: isErr(errAsked), ordinary: true, again: true},
	{word: againAnew, is: isErr(errAnew), ordinary: true, again: true},
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

// Reason returns the word for the cause of a failure, as in the log, or "" for nil.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	return causeOf(err).word
}

// againAfter returns the reason for the relist, if there is one, after a watch that ended with err
// or could not be opened.
func againAfter(err error) string {
	if c := causeOf(err); c.again {
		return c.word
	}
	return againWatch
}

// endReason returns the word for the end of a watch.
func endReason(err error) string {
	if c := causeOf(err); !c.detail {
		return c.word
	}
	return "error"
}
