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

// openLists holds the lists with further pages.
type openLists struct {
	mu     sync.Mutex
	lists  map[string]*pages // by number
	number uint64            // the number of the last list
	turn   uint64            // the turn of the list that was put back last
}

// pages is a list in pages. Its mutable fields are guarded by openLists.mu.
type pages struct {
	kind     schema.GroupVersionKind
	list     reflect.Type
	snapshot *view.Snapshot
	users    int    // the number of requests that read the snapshot, plus one while in openLists.lists; the last user closes the snapshot
	number   string // "" if it was never kept
	turn     uint64 // when it was last put back
	expiry   *time.Timer
}

// take returns the list for a request, and the object after which it continues, or nil for a new
// list. The caller must put the list back. The request's own snapshot becomes that of a new list,
// or is closed.
func (k *openLists) take(q *request, list reflect.Type) (of *pages, after *entry, err error) {
	if q.options.Continue == "" {
		return &pages{kind: q.kind, list: list, snapshot: q.snapshot, users: 1}, nil, nil
	}
	q.snapshot.Close()
	number, key, _ := strings.Cut(q.options.Continue, "/")
	k.mu.Lock()
	defer k.mu.Unlock()
	if of = k.lists[number]; of == nil {
		return nil, nil, apierrors.NewResourceExpired(fmt.Sprintf("the list of continue token %q has expired: start it again without a token", q.options.Continue))
	}
	last, _ := of.snapshot.Get(key)
	object, is := last.(client.Object)
	if !is || of.kind != q.kind || of.list != list {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("continue token %q does not belong to a list of %s in a %v", q.options.Continue, q.kind.Kind, list))
	}
	of.users++
	return of, &entry{Key: key, Object: object}, nil
}

// putBack ends the use of a list by a request, and returns the number of the list. A list that
// continues is kept for another KeptFor; if there are too many, the one that was unused for the
// longest time is dropped.
func (k *openLists) putBack(of *pages, goesOn bool) (number string) {
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

func (k *openLists) keepLocked(of *pages) {
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
func (k *openLists) expire(of *pages, turn uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if of.turn == turn {
		k.removeLocked(of)
	}
}

// removeLocked removes a list if it is kept.
func (k *openLists) removeLocked(of *pages) {
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
