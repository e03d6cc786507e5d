// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// errBusy says that a batch is on its way into the store, or to the handlers.
var errBusy = errors.New("the informer is storing a batch")

const (
	leastPoll = time.Millisecond
	mostPoll  = 50 * time.Millisecond
)

// stateOf returns what is stored as soon as no batch is on its way: after microseconds, or, for a
// controller of NewInformer, when its handler has returned.
func stateOf(ctx context.Context, known *door.Informer) (*store.State, error) {
	for pause := leastPoll; ; pause = min(2*pause, mostPoll) {
		stored, err := tryState(known)
		if !errors.Is(err, errBusy) {
			return stored, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// tryState returns what is stored. It waits for nobody: the error is errBusy, ErrUnvouched,
// ErrUnsynced, also if the informer did not run when it was looked up, or ErrEnded.
func tryState(known *door.Informer) (*store.State, error) {
	switch {
	case known.Report.HasEnded():
		return nil, ErrEnded
	case known.Requests == nil, !known.HasSynced():
		return nil, ErrUnsynced
	case known.Part != nil && known.Report.Status().Phase == reflector.Stopped:
		return nil, ErrUnvouched // the source was replaced: what is stored is of what it asked for before
	case !known.Delivery.TryLock():
		return nil, errBusy
	}
	defer known.Delivery.Unlock()
	if stored := known.Applier.State(known.Part); stored != nil {
		return stored, nil
	}
	return nil, ErrUnvouched // as after a write to the store
}
