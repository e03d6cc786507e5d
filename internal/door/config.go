// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
)

// Config is what can be set about a shared informer before it runs, beside the parameters of
// client-go's constructors. Its zero value is client-go's behavior.
type Config struct {
	Requests reflector.Options           // what is not set here the controller sets
	Resource schema.GroupVersionResource // what is asked for, if that is known

	Limit          int  // of the queue; 0: none
	KeepCached     bool // objects of lists that the transform function fails for keep their cached version
	OnProcessError func(ctx context.Context, err error)

	OnIndexFailure  func(table.IndexFailure) // for each, after the write and without a lock
	TransformCopies bool                     // what it changes of parts that objects may share

	Standard fanout.Delivered // how handlers that are not Delivered are served
	Bad      Faults           // of what the user has set

	Follower Follower // in place of the one reflector of an informer; nil: that reflector
}

// Follower follows several sources of objects, so that an informer has no reflector of its own.
type Follower interface {
	// Follow fills the queue until ctx ends. The options are what the reflector of the informer would
	// get; their Sink has room, and resyncs. It is called once.
	Follow(ctx context.Context, o reflector.Options, q *queue.Queue)
	// HasSyncedChecker says when the store has, and the handlers were given, the first state of each
	// source that was there when Follow was called.
	HasSyncedChecker() clientgo.DoneChecker
	// Version is what the informer tells as its last version.
	Version() string
	// Parts returns the sources by their names, as they are now, each as an informer.
	Parts() map[string]*Informer
}

// ErrBadOptions says why an informer does not run.
var ErrBadOptions = errors.New("invalid options")

// Faults are what is wrong with what a user gave, each with its remedy.
type Faults []string

// Add notes a fault.
func (f *Faults) Add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// As returns an error that wraps what, in one line; nil if there are no faults.
func (f Faults) As(what error) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", what, strings.Join(f, "; "))
}
