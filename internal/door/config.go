// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/table"
)

// Config is what can be set about a shared informer before it runs, beside the parameters of
// client-go's constructors. Its zero value is client-go's behavior.
type Config struct {
	Requests reflector.Options // what is not set here the controller sets

	Limit          int  // of the queue; 0: none
	KeepCached     bool // objects of lists that the transform function fails for keep their cached version
	OnProcessError func(ctx context.Context, err error)

	OnIndexFailure  func(table.IndexFailure) // for each, after the write and without a lock
	TransformCopies bool                     // what it changes of parts that objects may share

	Standard fanout.Delivered // how handlers that are not Delivered are served
	Bad      Faults           // of what the user has set
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
