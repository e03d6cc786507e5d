// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache/view"
)

const (
	// KeptFor is how long a list may wait for the next page to be asked for. Its snapshot keeps in memory
	// what was replaced or deleted since the first.
	KeptFor = time.Minute
	// MaxKept is how many lists of a Reader may be between two pages.
	MaxKept = 64
)

// answer fills in the list and lets go of the snapshot, or keeps that for the next page.
func (r *Reader) answer(q *request, out client.ObjectList) error {
	out.SetContinue("")
	if q.less == nil {
		defer q.snapshot.Close()
		return q.all(out)
	}
	of, after, err := r.kept.find(q)
	if err != nil {
		return err
	}
	limit := math.MaxInt
	if q.options.Limit > 0 {
		limit = int(q.options.Limit)
	}
	next, err := q.page(of.snapshot, after, limit, out)
	if err != nil && of.number != "" { // another request may go on
		return err
	}
	if next == nil {
		r.kept.close(of)
		return err
	}
	out.SetContinue(r.kept.keep(of) + "/" + next.Key)
	return nil
}

// page fills in the objects after that one, and returns the last of them if there are more.
func (q *request) page(of *view.Snapshot, after *entry, limit int, out client.ObjectList) (next *entry, err error) {
	page, next, err := view.Page(of, q.query, q.less, after, limit)
	switch {
	case errors.Is(err, view.ErrClosed): // meanwhile
		return nil, q.expired()
	case err != nil:
		return nil, err
	}
	objects := make([]runtime.Object, len(page))
	for i := range page {
		objects[i] = q.copyOf(page[i].Object)
	}
	return next, apimeta.SetList(out, objects)
}

// all fills in the list in no order.
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

// copyOf returns what the caller gets of a cached object.
func (q *request) copyOf(cached client.Object) runtime.Object {
	if ptr.Deref(q.options.UnsafeDisableDeepCopy, false) {
		return cached
	}
	object := cached.DeepCopyObject()
	object.GetObjectKind().SetGroupVersionKind(q.kind)
	return object
}

// kept holds the lists of which there are further pages.
type kept struct {
	mu     sync.Mutex
	lists  map[string]*pages // by number
	number uint64            // of the last
}

// pages is a list in pages. The lock of kept guards what changes.
type pages struct {
	kind     schema.GroupVersionKind
	snapshot *view.Snapshot
	number   string // "" while it is not kept
	used     time.Time
	expiry   *time.Timer
}

// find returns the list that a request is for, and the object after which it goes on: nil for a new one.
// The snapshot of the request is that of a new list, or closed.
func (k *kept) find(q *request) (of *pages, after *entry, err error) {
	if q.options.Continue == "" {
		return &pages{kind: q.kind, snapshot: q.snapshot}, nil, nil
	}
	q.snapshot.Close()
	number, key, _ := strings.Cut(q.options.Continue, "/")
	k.mu.Lock()
	defer k.mu.Unlock()
	if of = k.lists[number]; of == nil {
		return nil, nil, q.expired()
	}
	last, exists := of.snapshot.Get(key)
	object, is := last.(client.Object)
	if !exists || !is || of.kind != q.kind {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("continue %q is of no list of %s", q.options.Continue, q.kind.Kind))
	}
	return of, &entry{Key: key, Object: object}, nil
}

func (q *request) expired() error {
	return apierrors.NewResourceExpired(fmt.Sprintf("the list of continue %q is not kept any more: begin it anew", q.options.Continue))
}

// keep keeps a list for another KeptFor, and returns its number. It lets go of the one that was not used
// for longest, if there are too many.
func (k *kept) keep(of *pages) (number string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if of.number == "" {
		k.number++
		of.number = strconv.FormatUint(k.number, 10)
		of.expiry = time.AfterFunc(KeptFor, func() { k.close(of) })
		if k.lists == nil {
			k.lists = map[string]*pages{}
		}
		k.lists[of.number] = of
	}
	of.used = time.Now()
	of.expiry.Reset(KeptFor)
	if len(k.lists) > MaxKept {
		k.closeLocked(slices.MinFunc(slices.Collect(maps.Values(k.lists)), func(a, b *pages) int { return a.used.Compare(b.used) }))
	}
	return of.number
}

// close lets go of a list, kept or not.
func (k *kept) close(of *pages) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closeLocked(of)
}

func (k *kept) closeLocked(of *pages) {
	if of.number != "" {
		of.expiry.Stop()
		delete(k.lists, of.number)
	}
	of.snapshot.Close()
}
