// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"math"
	"reflect"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache/view"
)

const (
	// keptFor is how long a list is kept for the request of its next page.
	keptFor = time.Minute
	// maxKept is the largest number of lists that a Reader keeps between two pages.
	maxKept = 64
)

// answer fills in the list from the present snapshot, or from the snapshot of the continued list.
func (r *Reader) answer(q *request, out client.ObjectList) error {
	out.SetContinue("")
	if q.compare == nil {
		defer q.snapshot.Close()
		return q.all(out)
	}
	of, after, err := r.open.take(q, reflect.TypeOf(out))
	if err != nil {
		return err
	}
	var next *entry
	goesOn := of.number != 0 // also after an error or a panic, because another request may succeed
	defer func() {
		if number := r.open.putBack(of, goesOn); next != nil {
			out.SetContinue(token{r.open.reader, number, next.Key}.String())
		}
	}()
	next, err = q.page(of.snapshot, after, out)
	goesOn = next != nil || goesOn && err != nil
	return err
}

// page fills in the objects that follow after, and returns the last of them if there are more.
func (q *request) page(of *view.Snapshot, after *entry, out client.ObjectList) (next *entry, err error) {
	limit := int64(math.MaxInt)
	if q.options.Limit > 0 {
		limit = min(limit, q.options.Limit)
	}
	page, next, err := view.Page(of, q.query, q.compare, after, int(limit))
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, len(page))
	for i := range page {
		objects[i] = q.copyOf(page[i].Object)
	}
	if err := apimeta.SetList(out, objects); err != nil {
		return nil, err
	}
	return next, nil
}

// all fills in the list in no particular order.
func (q *request) all(out client.ObjectList) error {
	found, err := view.Select[client.Object](q.snapshot, q.query)
	if err != nil {
		return err
	}
	objects := []runtime.Object{}
	for _, object := range found {
		objects = append(objects, q.copyOf(object))
	}
	return apimeta.SetList(out, objects)
}

// copyOf returns the caller's copy of a cached object, or the object itself with
// UnsafeDisableDeepCopy.
func (q *request) copyOf(cached client.Object) runtime.Object {
	if ptr.Deref(q.options.UnsafeDisableDeepCopy, false) {
		return cached
	}
	object := cached.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(q.kind)
	return object
}
