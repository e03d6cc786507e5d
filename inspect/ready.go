// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/switched"
)

// ReadyOptions defines when informers count as ready. The zero value is ready for use.
type ReadyOptions struct {
	// All includes every informer that runs at the time of the check, in addition to the arguments
	// of Ready. An informer that has stopped is not included, unless it was an argument of Ready.
	// If no informer runs, the check fails.
	All bool

	// MaxOutage, if positive, is how long requests may fail or hang until an informer that has
	// synced is no longer ready: from the first request or watch that fails until a watch is
	// established again; or from the last sign of life of a request that hangs, as defined by
	// Problem.Cause. Errors that a kinformer.ErrorPolicy calls expected do not count, nor does an
	// open watch without events if its server has never sent a bookmark, nor a server that throttles:
	// see Readiness.ServeHTTP. The default, 0, means no limit.
	//
	// Use a limit with care. If a server is out of reach, it is so for all replicas, and a limit
	// makes all of them unready at the same time, although each could still serve its cached state.
	// An outage of the control plane then becomes one of the program. A limit is for programs whose
	// answers are wrong once they are old.
	MaxOutage time.Duration
}

// Readiness is the check that Ready returns. It keeps its informers alive.
type Readiness struct {
	options   ReadyOptions
	informers []Syncer
}

// Ready returns a check of whether informers are ready: each has synced and follows its server; a
// stopped one does not. A source that its error policy has stopped does not count: the program does
// without it. The check is a handler for a readiness probe, and its method Check is a healthz.Checker of
// controller-runtime:
//
//	ready := inspect.Ready(inspect.ReadyOptions{}, pods, nodes)
//	mux.Handle("GET /readyz", ready)
//	err := manager.AddReadyzCheck("informers", ready.Check)
//
// It accepts the same values as StatusOf. Informers of other packages, and registrations of
// handlers, are ready when they have synced. Without informers, and without ReadyOptions.All, the
// check fails.
//
// It is not a liveness check: a restart does not help if the server is out of reach.
func Ready(options ReadyOptions, informers ...Syncer) *Readiness {
	return &Readiness{options, slices.Clone(informers)}
}

// Check returns nil if all informers are ready. Otherwise the error names at most 8 of those that
// are not, with the reasons, and wraps the last errors of those that have not synced. It does not
// block.
func (r *Readiness) Check(*http.Request) error {
	unready, _, of := r.unready()
	if of == 0 {
		return errors.New(r.none())
	}
	if len(unready) == 0 {
		return nil
	}
	var causes []error
	for _, u := range unready {
		causes = append(causes, u.cause)
	}
	return event.WithText(described(unready, of, true), errors.Join(causes...))
}

// ServeHTTP answers a GET or HEAD with 200 and "ok", and lines that name at most 8 informers whose server
// throttles or that KINFORMER has made client-go's, or with 503 and lines that name at most 8 of the
// informers that are not ready, with their phases. It does not show servers and errors, which may contain
// addresses; use Check or StatusOf for these.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	text, code := "ok", http.StatusOK
	switch unready, notes, of := r.unready(); {
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		text, code = http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed
	case of == 0:
		text, code = r.none(), http.StatusServiceUnavailable
	case len(unready) > 0:
		text, code = described(unready, of, false), http.StatusServiceUnavailable
	default:
		text = strings.Join(append([]string{text}, notes...), "\n")
	}
	w.WriteHeader(code)
	if req.Method != http.MethodHead {
		_, _ = io.WriteString(w, text+"\n")
	}
}

// checkedInformer is what a check has found of an informer.
type checkedInformer struct {
	name  string
	at    string // " at " and the server; "" if it is not known
	why   string // why it is not ready; "" if it is
	cause error  // of why; may be nil
	note  string // about one that is ready; may be ""
}

// maxUnready is the largest number of informers that a message names.
const maxUnready = 8

// described lists the informers that are not ready: on one line with their errors, or one per line
// without.
func described(unready []checkedInformer, of int, withErrors bool) string {
	separator := "\n"
	if withErrors {
		separator = "; "
	}
	verb := "are"
	if of == 1 {
		verb = "is"
	}
	lines := []string{fmt.Sprintf("%d of %s %s not ready", len(unready), beside.Counted(int64(of), "informer"), verb)}
	for _, u := range unready[:min(len(unready), maxUnready)] {
		line := beside.WithoutFields(u.name) + " " + u.why
		if withErrors {
			line = u.name + u.at + " " + u.why
			if u.cause != nil {
				line += ": " + u.cause.Error()
			}
		}
		lines = append(lines, strings.ReplaceAll(line, "\n", " "))
	}
	if more := len(unready) - maxUnready; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, separator)
}

// unready returns the informers that are not ready, notes about others, and the number of all informers.
func (r *Readiness) unready() (unready []checkedInformer, notes []string, of int) {
	informers := r.informers
	if r.options.All {
		informers = r.withAll()
	}
	for i, informer := range informers {
		u := checkedInformer{name: fmt.Sprintf("informer %d", i+1), why: "is nil"}
		if informer != nil {
			u = r.check(informer)
		}
		switch {
		case u.why != "":
			unready = append(unready, u)
		case u.note != "" && len(notes) < maxUnready:
			notes = append(notes, beside.WithoutFields(u.name)+" "+u.note)
		}
	}
	return unready, notes, len(informers)
}

// withAll returns the informers of the check and all others that run.
func (r *Readiness) withAll() []Syncer {
	all, given := slices.Clone(r.informers), map[*reflector.Journal]bool{}
	for _, informer := range r.informers {
		if own := door.Of(informer); own != nil {
			given[own.Report] = true
		}
	}
	for informer := range All() {
		// A stopped informer may run until a call of the user's code returns.
		if own := door.Of(informer); !given[own.Report] && own.Report.Status().Phase != reflector.Stopped {
			all = append(all, informer)
		}
	}
	for _, e := range switched.Running() {
		if !slices.ContainsFunc(r.informers, func(i Syncer) bool { return switched.Of(i) == e }) {
			all = append(all, e.Self)
		}
	}
	return all
}

// none explains why a check of no informers fails.
func (r *Readiness) none() string {
	if r.options.All {
		return "not ready: no informer runs"
	}
	return "not ready: Ready was given no informers"
}

const asksToWait = "the server asks to wait"

// isThrottled reports whether a reflector waits because its server has told it to.
func isThrottled(r *reflector.Status) bool {
	_, asked := apierrors.SuggestsClientDelay(r.Err)
	return !r.Throttled.IsZero() || r.Hangs == "" && r.Failures > 0 && (asked || apierrors.IsTooManyRequests(r.Err))
}

// check returns why an informer is not ready. If it is ready, why is "".
func (r *Readiness) check(informer Syncer) checkedInformer {
	checker := informer.HasSyncedChecker()
	u := checkedInformer{name: checker.Name()}
	own, synced := door.Of(informer), clientgo.IsDone(checker)
	if own == nil {
		if !synced {
			u.why = "has not synced"
		}
		if e := switched.Of(informer); e != nil {
			u.name, u.note = e.What, "is client-go's ("+e.Why+")"
			if e.HasEnded() {
				u.why = "has stopped"
			}
			if r.options.MaxOutage > 0 {
				switched.LeftOut(e.What, "ReadyOptions.MaxOutage")
			}
		}
		return u
	}
	u.name, u.at = beside.WithResource(own, u.name), beside.At(own)
	status := worstOf(own, synced)
	switch {
	case status.Unfit != nil:
		u.why, u.cause = "cannot run", status.Unfit
	case status.Phase == reflector.Stopped:
		u.why, u.cause = "has stopped", status.Cause()
	case !synced:
		u.why, u.cause = "has not synced: "+beside.DescribePhase(string(status.Phase), status.Since, status.Age), status.Cause()
		if isThrottled(&status) {
			u.why += "; " + asksToWait
		}
	case isThrottled(&status):
		u.note = "is slow: " + asksToWait
	case r.options.MaxOutage > 0 && status.FailingFor > r.options.MaxOutage:
		u.why, u.cause = fmt.Sprintf("gets old: requests fail for %v", beside.Shortly(status.FailingFor)), status.Err
		if status.Hangs != "" && status.HangsFor >= status.FailingFor {
			u.why, u.cause = "gets old: "+beside.Hanging(&status), nil
		}
	}
	return u
}
