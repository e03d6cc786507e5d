// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/test/e2e/follow"
)

// writer changes its own objects of one kind.
type writer struct {
	*kind
	report    *report
	random    *rand.Rand
	known     map[string]checker.State // existing objects
	uncertain map[string]bool          // after an unanswered write
	values    int
}

// write changes one object at a time until ctx is done.
func (w *writer) write(ctx context.Context, prefix string) {
	for wait(ctx, *pause) {
		// A few names are changed often, most seldom.
		name := fmt.Sprintf("%s-%d", prefix, w.random.IntN(1+w.random.IntN(*names)))
		w.step(ctx, name, w.random.IntN(10))
	}
}

// step makes one write, or reads the result of an unanswered one. A write that takes effect after the
// read contradicts the ledger only briefly: the next write is refused, and the object read again.
func (w *writer) step(ctx context.Context, name string, dice int) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	key := follow.Namespace + "/" + name
	if w.uncertain[name] {
		state, err := w.resource.Get(ctx, name)
		if err == nil || saysNotFound(err) {
			w.ledger.Found(key, state)
			w.known[name], w.uncertain[name] = state, false
		}
		return
	}
	verb, state, err := w.change(ctx, name, dice)
	if err != nil {
		w.uncertain[name] = true
		w.report.count("writes without an answer of success", 1)
		return
	}
	w.report.count("writes acknowledged: "+verb, 1)
	if w.known[name] = state; verb == "delete" {
		w.ledger.Found(key, state)
	} else {
		w.ledger.Acknowledged(key, state)
	}
}

func (w *writer) change(ctx context.Context, name string, dice int) (verb string, state checker.State, err error) {
	base := w.known[name]
	exists := base != checker.State{}
	w.values++
	value := name + "." + fmt.Sprint(w.values)
	w.ledger.Begin(follow.Namespace+"/"+name, exists && dice >= 7)
	switch {
	case !exists:
		state, err = w.resource.Create(ctx, name, value)
		return "create", state, err
	case dice < 4:
		state, err = w.resource.Update(ctx, name, value, base)
		return "update", state, err
	case dice < 7:
		state, err = w.resource.Patch(ctx, name, value, base)
		return "patch", state, err
	default:
		return "delete", checker.State{}, w.resource.Delete(ctx, name, base)
	}
}

// saysNotFound reports whether err states that the object does not exist. A starting server also answers
// 404 to requests for a custom resource that it does not serve yet.
func saysNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// wait returns true after d, or false if ctx is done first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
