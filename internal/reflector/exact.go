// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// Admits returns a function that says why a reflector of these options leaves an item of a list
// out, nil for one that it admits. The function also trims such an item, as the reflector does.
func (o Options) Admits() func(item runtime.Object) error {
	e := expectationOf(o.ExpectedType)
	e.namespace, e.decoding = o.Namespace, &o.Decoding
	return e.admitItem
}

// Call calls send as a reflector of these options does, beside it, and waits until ctx ends, even if
// send does not heed that. Its status says nothing of it.
func (o Options) Call(ctx context.Context, send func(context.Context) (runtime.Object, error)) (runtime.Object, error) {
	o.Journal = nil
	o = o.withDefaults()
	silent := newTimers(&o)
	got, err := request(ctx, &silent, send, func(runtime.Object) {})
	if errors.Is(err, errStopped) {
		return nil, context.Cause(ctx)
	}
	return got, err
}
