// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
)

// Indices is a parameter type of NewThreadSafeStore, so that calls of client-go's function compile. The
// argument is ignored.
type Indices map[string]index

// index is a type without values, so that an Indices stays empty.
type index struct{}

// reportIndexFailures makes one report for each index: apimachinery's handler takes a millisecond for a
// report.
func reportIndexFailures(failures []table.IndexFailure) {
	var first []*table.IndexFailure // of each index
	count := map[string]int{}
	for i := range failures {
		f := &failures[i]
		if count[f.Index]++; count[f.Index] == 1 {
			first = append(first, f)
		}
	}
	for _, f := range first {
		details := []any{"index", f.Index, "objects", count[f.Index]}
		if p := (*table.PanicError)(nil); errors.As(f.Err, &p) && p.Stack != nil {
			details = append(details, "stack", string(p.Stack))
		}
		err := event.Redacted(indexFailureError(f))
		event.Report(context.Background(), err, "Index function failed", details...)
	}
}

func indexFailureError(f *table.IndexFailure) error {
	return fmt.Errorf("unable to calculate an index entry for key %q on index %q: %w", f.Key, f.Index, f.Err)
}

// singleValued returns a form of f that does not allocate if f is MetaNamespaceIndexFunc, of client-go or of
// this package, and nil for every other function.
func singleValued(f table.IndexFunc) func(obj any) (value string, err error) {
	switch reflect.ValueOf(f).Pointer() {
	case reflect.ValueOf(MetaNamespaceIndexFunc).Pointer(), reflect.ValueOf(clientgo.MetaNamespaceIndexFunc).Pointer():
		return event.NamespaceOf
	}
	return nil
}
