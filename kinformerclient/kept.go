// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache/view"
)

// kept holds the lists of which there are further pages.
type kept struct {
	mu     sync.Mutex
	lists  map[string]*pages // by number
	number uint64            // of the last
	turn   uint64            // of the list that was put back last
}

// pages is a list in pages. The lock of kept guards what changes.
type pages struct {
	kind     schema.GroupVersionKind
	list     reflect.Type
	snapshot *view.Snapshot
	users    int    // the requests that read the snapshot, and kept.lists; the last one closes it
	number   string // "" while it was never kept
	turn     uint64 // when it was put back last
	expiry   *time.Timer
}

// take returns the list that a request is for, and the object after which it goes on: nil for a new one.
// The caller puts the list back. The snapshot of the request is that of a new list, or closed.
func (k *kept) take(q *request, list reflect.Type) (of *pages, after *entry, err error) {
	if q.options.Continue == "" {
		return &pages{kind: q.kind, list: list, snapshot: q.snapshot, users: 1}, nil, nil
	}
	q.snapshot.Close()
	number, key, _ := strings.Cut(q.options.Continue, "/")
	k.mu.Lock()
	defer k.mu.Unlock()
	if of = k.lists[number]; of == nil {
		return nil, nil, apierrors.NewResourceExpired(fmt.Sprintf("the list of continue %q is not kept any more: begin it anew", q.options.Continue))
	}
	last, _ := of.snapshot.Get(key)
	object, is := last.(client.Object)
	if !is || of.kind != q.kind || of.list != list {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("continue %q is of no list of %s in a %v", q.options.Continue, q.kind.Kind, list))
	}
	of.users++
	return of, &entry{Key: key, Object: object}, nil
}

// putBack ends the use of a list by a request. One that goes on is kept for another KeptFor, in the place
// of the one that was not asked for longest if there are too many; putBack returns its number.
func (k *kept) putBack(of *pages, goesOn bool) (number string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if goesOn {
		k.keepLocked(of)
	} else {
		k.removeLocked(of)
	}
	of.leaveLocked()
	return of.number
}

func (k *kept) keepLocked(of *pages) {
	if of.number == "" {
		k.number++
		of.number = strconv.FormatUint(k.number, 10)
	}
	k.removeLocked(of)
	if k.lists == nil {
		k.lists = map[string]*pages{}
	}
	k.lists[of.number] = of
	of.users++
	k.turn++
	turn := k.turn
	of.turn = turn
	of.expiry = time.AfterFunc(KeptFor, func() { k.expire(of, turn) })
	if len(k.lists) > MaxKept {
		byTurn := func(a, b *pages) int { return cmp.Compare(a.turn, b.turn) }
		k.removeLocked(slices.MinFunc(slices.Collect(maps.Values(k.lists)), byTurn))
	}
}

// expire removes a list, unless it was put back after that turn.
func (k *kept) expire(of *pages, turn uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if of.turn == turn {
		k.removeLocked(of)
	}
}

// removeLocked does nothing if the list is not kept.
func (k *kept) removeLocked(of *pages) {
	if k.lists[of.number] == of {
		of.expiry.Stop()
		delete(k.lists, of.number)
		of.leaveLocked()
	}
}

func (of *pages) leaveLocked() {
	if of.users--; of.users == 0 {
		of.snapshot.Close()
	}
}
