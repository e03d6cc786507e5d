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

// Config configures a shared informer before it runs, in addition to the parameters of client-go's
// constructors. Its zero value is client-go's behavior.
type Config struct {
	Requests reflector.Options           // the controller sets the remaining fields
	Resource schema.GroupVersionResource // the requested resource, if it is known

	Limit          int  // the limit of the queue; 0 means none
	KeepCached     bool // whether an object of a list for which the transform function fails keeps its cached version
	OnProcessError func(ctx context.Context, err error)

	OnIndexFailure  func(table.IndexFailure) // called for each failure, after the write and without a lock
	Transform       clientgo.TransformFunc   // replaces that of SetTransform, unless it is nil
	TransformCopies bool                     // whether the transform function copies the parts that it changes, which objects may share

	GuardsWrites bool // whether no object with some of its fields may be written

	Standard fanout.Delivered // how handlers that are not Delivered are served
	Bad      Faults           // faults in the user's options

	Follower Follower // replaces the informer's reflector; nil means that there is one
}

// Follower follows several sources of objects, so that an informer has no reflector of its own.
type Follower interface {
	// Follow fills the queue until ctx ends. o has the options that the informer's reflector would
	// get; its Sink provides Room and Resync. Follow is called once.
	Follow(ctx context.Context, o reflector.Options, q *queue.Queue)
	// Refuse says why the informer does not run, so that no source does.
	Refuse(unfit error)
	// HasSyncedChecker reports when the store and the handlers have the first state of each source
	// that existed when Follow was called.
	HasSyncedChecker() clientgo.DoneChecker
	// NeverSyncs returns a channel that is closed once one of these sources has ended before that. The
	// call is to be repeated for the time after it was replaced or removed.
	NeverSyncs() <-chan struct{}
	// Version returns the informer's LastSyncResourceVersion.
	Version() string
	// Parts returns the current sources by name, each as an informer, and Together calls read with
	// them while none is replaced or removed.
	Parts() map[string]*Informer
	Together(read func(parts map[string]*Informer))
}

// ErrBadOptions is wrapped by the error that explains why an informer does not run.
var ErrBadOptions = errors.New("invalid options")

// Faults are errors in a user's options, each with its remedy.
type Faults []string

// Add appends a fault.
func (f *Faults) Add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// As returns a one-line error that wraps base, or nil if there are no faults.
func (f Faults) As(base error) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", base, strings.Join(f, "; "))
}
