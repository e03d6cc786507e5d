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

	"github.com/kinformer/cache/e2e/follow"
)

// chainLength is how many objects the chain of a kind has.
const chainLength = 5

func chainName(i int) string { return fmt.Sprintf("chain-%d", i) }

// writer changes objects of its own of one kind.
type writer struct {
	resource *follow.Resource
	ledger   *ledger
	report   *report
	pause    time.Duration
	random   *rand.Rand
}

// write changes one of names objects at a time until ctx ends.
func (w *writer) write(ctx context.Context, prefix string, names int) {
	for wait(ctx, w.pause) {
		// Few of the names are changed often and most seldom.
		name := fmt.Sprintf("%s-%d", prefix, w.random.IntN(1+w.random.IntN(names)))
		w.step(ctx, name, w.random.IntN(10), func(e *entry) string {
			e.values++
			return valueOf(name, e.values)
		})
	}
}

// writeChain brings the objects of the chain from one value to the next, in order, until ctx ends.
func (w *writer) writeChain(ctx context.Context) {
	for i, n := 0, 1; wait(ctx, w.pause); {
		name := chainName(i)
		value := valueOf(name, n)
		if w.step(ctx, name, 0, func(*entry) string { return value }) != value {
			continue
		}
		if i = (i + 1) % chainLength; i == 0 {
			n++
		}
	}
}

// step makes one write, or finds out what became of the last one. It returns the value that the
// object is known to have.
func (w *writer) step(ctx context.Context, name string, dice int, value func(*entry) string) string {
	w.ledger.gate.RLock()
	defer w.ledger.gate.RUnlock()
	e := w.ledger.entry(name)
	if !e.certain {
		return w.settle(ctx, name, e)
	}
	verb, state, err := w.change(ctx, name, value(e), e, dice)
	if err != nil {
		e.certain = false
		w.report.count("writes without an answer of success", 1)
		return ""
	}
	w.report.count("writes acknowledged: "+verb, 1)
	if e.exists = verb != "delete"; e.exists {
		e.State = state
		w.ledger.acknowledged(name, state)
	}
	return state.Value
}

func (w *writer) change(ctx context.Context, name, value string, e *entry, dice int) (verb string, state follow.State, err error) {
	switch {
	case !e.exists:
		state, err = w.resource.Create(ctx, name, value)
		return "create", state, err
	case dice < 4:
		state, err = w.resource.Update(ctx, name, value, e.State)
		return "update", state, err
	case dice < 7:
		state, err = w.resource.Patch(ctx, name, value, e.State)
		return "patch", state, err
	default:
		w.ledger.history.ending(keyOf(name))
		return "delete", follow.State{}, w.resource.Delete(ctx, name, e.State)
	}
}

// settle reads the object after a write without an answer, and returns its value. A write that
// takes effect after this read cannot contradict the ledger for long: the next one will be refused,
// and settled again.
func (w *writer) settle(ctx context.Context, name string, e *entry) string {
	state, err := w.resource.Get(ctx, name)
	switch {
	case saysNotFound(err):
		e.exists = false
	case err != nil:
		return ""
	default:
		e.exists, e.State = true, state
	}
	e.certain = true
	return state.Value
}

// saysNotFound tells whether err says that the object does not exist. While a server starts, it
// answers 404 as well to a request for a custom resource of which it does not know yet.
func saysNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// wait returns true after d, and false if ctx ends before.
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
