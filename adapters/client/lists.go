// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache/view"
)

// openLists holds the lists with further pages.
type openLists struct {
	reader string // the name of the Reader in tokens; immutable
	mu     sync.Mutex
	lists  map[uint64]*pages // by number
	number uint64            // the number of the last list
	turn   uint64            // the turn of the list that was put back last
}

// pages is a list in pages. Its mutable fields are guarded by openLists.mu.
type pages struct {
	first    []property // of the request for the first page; immutable
	snapshot *view.Snapshot
	users    int    // the number of requests that read the snapshot, plus one while in openLists.lists; the last user closes the snapshot
	number   uint64 // 0 if it was never kept
	turn     uint64 // when it was last put back
	expiry   *time.Timer
}

// take returns the list for a request, and the object after which it continues, or nil for a new
// list. The caller must put the list back. The request's own snapshot becomes that of a new list,
// or is closed.
func (k *openLists) take(q *request, list reflect.Type) (of *pages, after *entry, err error) {
	properties := q.properties(list)
	if q.options.Continue == "" {
		return &pages{first: properties, snapshot: q.snapshot, users: 1}, nil, nil
	}
	q.snapshot.Close()
	t, err := k.tokenOf(q)
	if err != nil {
		return nil, nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if of = k.lists[t.number]; of == nil {
		return nil, nil, expired(q, "belongs to a list that is no longer kept")
	}
	if other := differences(of.first, properties); other != "" {
		return nil, nil, badToken(q, "belongs to a list with other options. This request has "+other+". Repeat the options of the first page")
	}
	last, _ := of.snapshot.Get(t.key)
	object, is := last.(client.Object)
	if !is {
		return nil, nil, badToken(q, "was altered: its object is not in the list. Use the token of the previous page as it is")
	}
	of.users++
	return of, &entry{Key: t.key, Object: object}, nil
}

// tokenOf returns the token of a request, if this Reader made it.
func (k *openLists) tokenOf(q *request) (t token, err error) {
	t, ok := parseToken(q.options.Continue)
	switch {
	case !ok:
		return t, badToken(q, "was not made by a Reader. Start the list without a token")
	case t.reader != k.reader:
		return t, expired(q, "belongs to another Reader: of another replica, or of this program before a restart")
	}
	return t, nil
}

// badToken returns an error after which a client should not send the request again.
func badToken(q *request, reason string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("continue token %q %s", q.options.Continue, reason))
}

// expired returns an error after which a client should start the list again.
func expired(q *request, reason string) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("continue token %q %s. Start the list again without a token", q.options.Continue, reason))
}

// putBack ends the use of a list by a request, and returns the number of the list. A list that
// continues is kept for another keptFor; if there are too many, the one that was unused for the
// longest time is dropped.
func (k *openLists) putBack(of *pages, goesOn bool) (number uint64) {
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
	if of.number == 0 {
		k.number++
		of.number = k.number
	}
	k.removeLocked(of)
	if k.lists == nil {
		k.lists = map[uint64]*pages{}
	}
	k.lists[of.number] = of
	of.users++
	k.turn++
	turn := k.turn
	of.turn = turn
	of.expiry = time.AfterFunc(keptFor, func() { k.expire(of, turn) })
	if len(k.lists) > maxKept {
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
