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
	// errStopped says that the context ended during a wait.
	errStopped = errors.New("reflector: stopped")
	// errClosed says that the server closed a watch without giving a reason, which is how each
	// watch ends.
	errClosed = errors.New("watch closed")
	// errAsked says that a watch was given up because somebody wants the whole state anew.
	errAsked = errors.New("the whole state is requested again")
	// errSilent says that a watch-list stream sent nothing for too long.
	errSilent = errors.New("watch-list stream is silent")
	// errIdle says that a watch sent nothing for too long.
	errIdle = errors.New("watch is silent")
	// errNoAnswer says that a request ended its goroutine instead of returning.
	errNoAnswer = errors.New("the ListerWatcher did not return")
	// ErrNoConnection says that client-go has opened a watch without a server: its connection
	// broke, or took too long.
	ErrNoConnection = errors.New("no connection for a watch, or not in time")
	// errNoStream says that a watch returned neither a stream nor an error.
	errNoStream = errors.New("the ListerWatcher returned no watch and no error")
	// errNoList says that a list returned neither a list nor an error.
	errNoList = errors.New("the ListerWatcher returned no list and no error")
	// errEndlessList says that a page of a list names itself as the next one. Fake ListerWatchers
	// may have one token for all pages: a page with other items is no repetition.
	errEndlessList = errors.New("a page has the continue token that was just used, so the list would never end: the server, or a proxy in between, repeats its answer")
)

// resyncError is an error of the store's Resync.
type resyncError struct{ cause error }

func (e *resyncError) Error() string { return "resync: " + e.cause.Error() }

func (e *resyncError) Unwrap() error { return e.cause }

// isExpired reports whether the server has forgotten a version: reason Expired, or, before
// Kubernetes 1.18, Gone.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// tooLargeVersion is how servers before Kubernetes 1.19 said that a version is ahead of them: as a
// cause without a type, or, before 1.17, in the message only.
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

// isRefused reports whether the server cannot serve the version it was asked for, but may well
// serve its newest.
func isRefused(err error) bool { return isExpired(err) || isTooLarge(err) }

// isBusy reports whether the server is down or wants to be left alone for a while: what the
// reflector knows stays good, so it waits and repeats the same request.
func isBusy(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// isA reports whether an error of type E is err, or in it.
func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isBroken reports whether a watch that was open has ended without a reason of the server's. An
// internal error is one, unless the client has made it of a connection that broke.
func isBroken(err error) bool {
	return utilnet.IsHTTP2ConnectionLost(err) || isCutOff(err) || isOutOfReach(err) && !apierrors.IsInternalError(err)
}

// cutOff are beginnings of what net/http and the operating system say of a connection, or a stream
// in it, that breaks while a watch reads. client-go knows some more, for which the watch just ends.
var cutOff = []string{"http2: client connection force closed", "stream error: stream ID ", "read tcp ", "write tcp "}

// isCutOff reports whether an error event says that the client could not read on, and not that it
// did not understand what it read. The error has become a text by then.
func isCutOff(err error) bool {
	return apierrors.HasStatusCause(err, event.CauseWatchDecoding) &&
		slices.ContainsFunc(cutOff, func(text string) bool { return strings.Contains(err.Error(), text) })
}

// errorOf makes an error of the object of an Error event. An object that is no Status is described
// by its type alone.
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
	return event.DiscreetAnswer(err)
}

// isUnwilling reports whether a server that is out of reach has said so itself, and not a proxy in
// its place.
func isUnwilling(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (status.Status().Code == http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests)
}

// isOutOfReach reports whether err says that there was no answer of a server, or that it cannot
// serve anybody now. It does not for answers about the request, such as 403, 404 or 410, nor for
// what cannot be understood, nor for errors of the sink.
func isOutOfReach(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return (code >= http.StatusInternalServerError || code == http.StatusTooManyRequests) && !isTooLarge(err)
	}
	if isA[*resyncError](err) {
		return false
	}
	return isA[net.Error](err) || // an *url.Error is one, and so is all that http.Client returns
		errors.Is(err, ErrNoConnection) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}

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
