// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
)

// errBusy says that a batch is on its way into the store, or to the handlers.
var errBusy = errors.New("the informer is storing a batch")

// state is what an informer has stored, between two batches. The auditor closes the snapshot.
type state struct {
	*table.Snapshot
	// received is what the server said of the objects that do not show it any more. Nobody else
	// has the map.
	received store.Received
}

const (
	leastPoll = time.Millisecond
	mostPoll  = 50 * time.Millisecond
)

// stateOf returns what is stored as soon as no batch is on its way: after microseconds, or, for a
// controller of NewInformer, when its handler has returned.
func stateOf(ctx context.Context, known *door.Informer) (state, error) {
	for pause := leastPoll; ; pause = min(2*pause, mostPoll) {
		stored, err := tryState(known)
		if !errors.Is(err, errBusy) {
			return stored, err
		}
		if err := sleep(ctx, pause); err != nil {
			return state{}, err
		}
	}
}

// tryState returns what is stored. It waits for nobody: the error is errBusy, ErrUnvouched,
// ErrUnsynced, also if the informer did not run when it was looked up, or ErrEnded.
func tryState(known *door.Informer) (state, error) {
	switch {
	case known.Report.HasEnded():
		return state{}, ErrEnded
	case known.Requests == nil, !known.HasSynced():
		return state{}, ErrUnsynced
	case !known.Delivery.TryLock():
		return state{}, errBusy
	}
	defer known.Delivery.Unlock()
	if rv := known.Table.RV(); !known.Applier.Vouched() || rv == "" || rv == "0" { // as after a write to the store
		return state{}, ErrUnvouched
	}
	return state{known.Table.Snapshot(), maps.Clone(known.Applier.Received)}, nil
}
