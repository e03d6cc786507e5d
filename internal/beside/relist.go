// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// errAsksNoMore is the error of operations that need a running informer.
var errAsksNoMore = errors.New("the informer has stopped and sends no more requests")

// AheadPause is the shortest time between two lists at a version that the server does not know: an
// API server that lags behind has caught up by then. Only tests of real servers change it, before
// an audit begins.
var AheadPause = 30 * time.Second

// Relist makes the informer list its objects again. If it has several sources, each source that has
// not stopped lists again.
func Relist(i *door.Informer) error {
	if err := asksNothing(i); err != nil {
		return err
	}
	if i.Parts == nil {
		i.Relister.Relist()
		return nil
	}
	for _, part := range i.Parts() {
		_ = Relist(part) // a source that has stopped says so in its status
	}
	return nil
}

// RelistNewest is Relist for the most recent state of the server, even if that is older than the
// cached one. stored reports whether the result is in the store.
func RelistNewest(i *door.Informer) (stored func() bool, err error) {
	if err := asksNothing(i); err != nil {
		return nil, err
	}
	return i.Relister.RelistNewest(), nil
}

// asksNothing returns an error if the informer will send no more requests, or never sends any.
func asksNothing(i *door.Informer) error {
	switch status := i.Report.Status(); {
	case status.Phase == reflector.Stopped:
		return errAsksNoMore
	case status.Unfit != nil:
		return fmt.Errorf("nothing can be requested: %w", status.Unfit)
	default:
		return nil
	}
}
