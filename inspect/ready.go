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

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
)

// ReadyOptions say when informers count as ready. The zero value works.
type ReadyOptions struct {
	// All has the check include every informer that runs when it is asked, in addition to those
	// that Ready is given. An informer that has stopped is not missed, unless Ready was
	// given it. While none runs, the check fails.
	All bool

	// MaxOutage, if positive, is how long requests may fail or hang until an informer that has
	// synced is not ready any more: from the first request, or watch, that fails, until a watch is
	// established again; or from the last sign of life of a request that hangs, as
	// Problem.Cause defines it. Errors that a kinformer.ErrorPolicy calls expected are no failure, nor
	// is an open watch on which nothing comes, if its server has never sent a bookmark. The
	// default, 0, is no limit.
	//
	// Think twice: a server that is out of reach is so for all replicas, so that a limit makes
	// all of them unready at the same time, though each could still serve from what it has. That
	// makes an outage of the control plane one of the program. A limit is for programs whose
	// answers are wrong once they are old.
	MaxOutage time.Duration
}

// Readiness is the check that Ready returns. It keeps its informers in memory.
type Readiness struct {
	options   ReadyOptions
	informers []Syncer
}

// Ready returns a check of whether informers are ready: each has synced and goes on following
// its server, which one that has stopped does not. As a handler it fits a readiness probe, and its
// method Check controller-runtime's healthz.Checker:
//
//	ready := inspect.Ready(inspect.ReadyOptions{}, pods, nodes)
//	mux.Handle("GET /readyz", ready)
//	err := manager.AddReadyzCheck("informers", ready.Check)
//
// It takes what StatusOf takes. Of informers of other packages, and of registrations of handlers,
// it asks only whether they have synced. Without any informer, and without ReadyOptions.All, the
// check fails.
//
// It is no liveness check: a restart helps nobody whose server is out of reach.
func Ready(options ReadyOptions, informers ...Syncer) *Readiness {
	return &Readiness{options, slices.Clone(informers)}
}

// Check returns nil if all informers are ready, else an error that says which are not and why: at
// most 8 of them by name. It wraps the last errors of those that have not synced. It waits for
// nothing.
func (r *Readiness) Check(*http.Request) error {
	unready, of := r.unready()
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
	return event.Told(described(unready, of, true), errors.Join(causes...))
}

// ServeHTTP answers a GET or HEAD with 200 and "ok", or 503 and, as lines of text, which informers
// are not ready and what they do, at most 8 of them. What errors say, which may name addresses, is
// not shown: Check and StatusOf tell it.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	text, code := "ok", http.StatusOK
	switch unready, of := r.unready(); {
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		text, code = http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed
	case of == 0:
		text, code = r.none(), http.StatusServiceUnavailable
	case len(unready) > 0:
		text, code = described(unready, of, false), http.StatusServiceUnavailable
	}
	w.WriteHeader(code)
	if req.Method != http.MethodHead {
		_, _ = io.WriteString(w, text+"\n")
	}
}

// unreadyInformer is one that is not ready.
type unreadyInformer struct {
	name, why string
	cause     error // what is known of the reason; nil: nothing
}

// maxUnready is how many informers are named.
const maxUnready = 8

// described says which informers are not ready: in one line, with their errors, or without these.
func described(unready []unreadyInformer, of int, withErrors bool) string {
	separator := "\n"
	if withErrors {
		separator = "; "
	}
	verb := "are"
	if of == 1 {
		verb = "is"
	}
	lines := []string{fmt.Sprintf("%d of %s %s not ready", len(unready), door.Counted(int64(of), "informer"), verb)}
	for _, u := range unready[:min(len(unready), maxUnready)] {
		line := u.name + " " + u.why
		if withErrors && u.cause != nil {
			line += ": " + u.cause.Error()
		}
		lines = append(lines, strings.ReplaceAll(line, "\n", " "))
	}
	if more := len(unready) - maxUnready; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, separator)
}

// unready returns the informers that are not ready, of how many.
func (r *Readiness) unready() (unready []unreadyInformer, of int) {
	informers := r.informers
	if r.options.All {
		informers = r.withAll()
	}
	for i, informer := range informers {
		u := unreadyInformer{name: fmt.Sprintf("informer %d", i+1), why: "is nil"}
		if informer != nil {
			u = r.check(informer)
		}
		if u.why != "" {
			unready = append(unready, u)
		}
	}
	return unready, len(informers)
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
		if !given[door.Of(informer).Report] {
			all = append(all, informer)
		}
	}
	return all
}

// none says why a check of no informers fails.
func (r *Readiness) none() string {
	if r.options.All {
		return "not ready: no informer runs"
	}
	return "not ready: Ready was given no informers"
}

// check returns why an informer is not ready, "" if it is.
func (r *Readiness) check(informer Syncer) unreadyInformer {
	checker := informer.HasSyncedChecker()
	u := unreadyInformer{name: checker.Name()}
	own, synced := door.Of(informer), clientgo.IsDone(checker)
	if own == nil {
		if !synced {
			u.why = "has not synced"
		}
		return u
	}
	u.name = own.Named(u.name)
	status := worstOf(own, synced)
	switch {
	case status.Unfit != nil:
		u.why, u.cause = "cannot run", status.Unfit
	case status.Phase == reflector.Stopped:
		u.why, u.cause = "has stopped", status.Cause()
	case !synced:
		u.why, u.cause = "has not synced: "+door.Doing(string(status.Phase), status.Since, status.Age), status.Cause()
	case r.options.MaxOutage > 0 && status.FailingFor > r.options.MaxOutage:
		u.why, u.cause = fmt.Sprintf("gets old: requests fail for %v", door.Shortly(status.FailingFor)), status.Err
		if status.Hangs != "" && status.HangsFor >= status.FailingFor {
			u.why, u.cause = "gets old: "+door.Hanging(&status), nil
		}
	}
	return u
}
