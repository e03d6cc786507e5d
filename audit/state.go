// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// errBusy means that a batch is being written to the store, or passed to the handlers.
var errBusy = errors.New("the informer is storing a batch")

const (
	leastPoll = time.Millisecond
	mostPoll  = 50 * time.Millisecond
)

// stateOf returns the state of the store as soon as no batch is being processed: after
// microseconds, or, for a controller of NewInformer, when its handler has returned.
func stateOf(ctx context.Context, own *door.Informer) (*beside.State, error) {
	for pause := leastPoll; ; pause = min(2*pause, mostPoll) {
		stored, err := tryState(own)
		if !errors.Is(err, errBusy) {
			return stored, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// tryState returns the state of the store. It does not block: the error is errBusy, ErrUnvouched,
// ErrEnded, or ErrUnsynced, also if the informer did not run when it was looked up.
func tryState(own *door.Informer) (*beside.State, error) {
	if err := unready(own); err != nil {
		return nil, err
	}
	switch {
	case !own.HasSynced():
		return nil, ErrUnsynced
	case own.Part != nil && own.Report.Status().Phase == reflector.Stopped:
		return nil, ErrUnvouched // the source was replaced: its objects are those of the previous ListerWatcher
	case !own.Delivery.TryLock():
		return nil, errBusy
	}
	defer own.Delivery.Unlock()
	if stored := beside.StateOf(own.Applier, own.Part); stored != nil {
		return stored, nil
	}
	return nil, ErrUnvouched // as after a write to the store
}

// unready returns the reason why nothing of an informer can be audited, or nil. An informer of several
// sources is ready if some of them may be.
func unready(own *door.Informer) error {
	switch {
	case own.Report.HasEnded():
		return ErrEnded
	case own.Requests == nil:
		return fmt.Errorf("%w: never run", ErrUnsynced)
	default:
		return nil
	}
}
