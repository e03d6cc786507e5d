// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache/internal/reflector"
)

// Errors configures how an informer handles errors of its lists and watches.
type Errors struct {
	// Policy is called for each error of a list and of the opening of a watch, and if an open watch is
	// throttled (429), told to wait, or loses its connection, unless the informer goes on without a wait.
	// After another error of an open watch the informer lists, and the error of that list counts. Without
	// a Policy the informer always tries again, with backoff. See StopOnForbidden and ExpectNotFound.
	Policy ErrorPolicy
	// OnStop is called when the informer stops by itself, because of its Policy or of invalid options.
	// The function may end the program, for instance by canceling the context of its manager. A
	// goroutine of Run calls OnStop after the informer's status reports the stop and before Run returns,
	// so OnStop must not wait for Run. It is not called when Run's context ends.
	OnStop func(ctx context.Context, stopped Stopped)
	// OnSourceStop is called instead when the Policy stops one of the sources of an informer of several
	// (package sources, or the namespaces of a factory.Namespaces). The informer and its other sources
	// continue. It may put another source, or remove this one.
	OnSourceStop func(ctx context.Context, stopped Stopped)
	// SkipUndecodable makes the informer go on without the objects that neither it nor its client can
	// decode, instead of failing the list or watch that has one. The store keeps the last version of such
	// an object that could be decoded, if any, until a later one can be, or the object is deleted; OnDelete
	// then gets a DeletedFinalStateUnknown if the last state cannot be decoded. inspect.Status names eight
	// of these objects. An object whose name or resourceVersion cannot be read fails its list or watch.
	//
	// The option needs a transport of package direct. Without one, as with a fake clientset, each list and
	// watch fails with an error that says so. While the client decodes for another reason,
	// inspect.Status.Problems says that the option is off.
	SkipUndecodable bool
}

// Stopped describes the end of an informer, or of one of its sources.
type Stopped struct {
	// Source is the name of the source that has stopped, and "" for an informer.
	Source string
	// Err names the objects, and wraps the reason.
	Err error
}

// ErrorPolicy decides how an informer continues after an error of a list or watch, before the informer
// waits: see Errors.Policy. It is called before the watch-error handler, by the goroutine that lists and
// watches, so it must not block.
type ErrorPolicy func(ctx context.Context, failure Failure) ErrorDecision

// Failure is an error of a list or watch.
type Failure struct {
	Err error
	// Attempts is the number of errors since the last success, including this one; a watch-list and the
	// list that replaces it count as one.
	Attempts int
	// Synced reports whether the informer has its first list. An informer that has it is in use, so a
	// policy should not stop it for an error that may be temporary.
	Synced bool
	// Source is the name of the source whose request has failed, if the informer has several. Attempts
	// and Synced are then those of the present request of that source.
	Source string
}

// ErrorDecision is the result of an ErrorPolicy. With the zero value the informer tries again after its
// backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer, which never starts again: the program has to end, or to start another
	// informer. Its Run returns as if its context had ended, its store stays readable, and the error is
	// the LastError of its inspect.Status. Pending calls of WaitForSync and WaitForVersion return it.
	// The stop is reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers and to Errors.OnStop.
	// Of an informer of several sources it ends only the source, and is reported to Errors.OnSourceStop.
	Stop bool
	// After, if positive, is the delay before the next attempt instead of the informer's backoff.
	After time.Duration
	// Expected marks the error as normal. It is logged once, at info, until requests succeed or fail in
	// another way. A watch-error handler, if one is set, is called each time.
	Expected bool
}

// StopOnForbidden is an ErrorPolicy that stops the informer if the server answers 403 before the first
// list has arrived. It is for programs that should fail at start instead of waiting for a permission.
// After a later 403, for instance while roles are rewritten, the informer waits and tries again.
// WaitForSync returns as soon as the informer has stopped, or one of its sources that it waits for. A
// framework that waits by other means, as controller-runtime does for two minutes, needs an
// Errors.OnStop that ends it, and an Errors.OnSourceStop if the informer has several sources.
func StopOnForbidden(_ context.Context, failure Failure) ErrorDecision {
	return ErrorDecision{Stop: !failure.Synced && apierrors.IsForbidden(failure.Err)}
}

// ExpectNotFound returns an ErrorPolicy for a resource that may not be installed yet, such as that of a
// CustomResourceDefinition. While the server does not know the resource, the informer repeats the
// request every period instead of backing off, and logs one line. If the resource is removed later, the
// informer does the same, and the cache keeps its content until the resource is back. Other errors
// follow the backoff. A period of 0 means 5 s.
func ExpectNotFound(period time.Duration) ErrorPolicy {
	const cheap = 5 * time.Second // a 404 is a cheap response: the server does not access its storage
	if period <= 0 {
		period = cheap
	}
	return func(_ context.Context, failure Failure) ErrorDecision {
		if apierrors.IsNotFound(failure.Err) || meta.IsNoMatchError(failure.Err) {
			return ErrorDecision{After: period, Expected: true}
		}
		return ErrorDecision{}
	}
}

func (e Errors) set(o *reflector.Options) {
	o.OnStop, o.OnSourceStop = stopFunc(e.OnStop), stopFunc(e.OnSourceStop)
	o.Decoding.SkipUndecodable = e.SkipUndecodable
	if e.Policy == nil {
		return
	}
	o.Decide = func(ctx context.Context, of reflector.Undecided) reflector.Decision {
		return reflector.Decision(e.Policy(ctx, Failure(of)))
	}
}

func stopFunc(tell func(context.Context, Stopped)) func(context.Context, reflector.Halted) {
	if tell == nil {
		return nil
	}
	return func(ctx context.Context, of reflector.Halted) { tell(ctx, Stopped(of)) }
}
