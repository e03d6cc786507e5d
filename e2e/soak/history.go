// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"sync"

	"github.com/kinformer/cache/e2e/follow"
)

// history keeps what the server has acknowledged of each object, so that a state can be held
// against the resourceVersion that it claims to be of: what was acknowledged up to there must be in
// it, or something newer, or the object may have been deleted. Its methods may be called
// concurrently.
type history struct {
	mu struct {
		sync.RWMutex
		objects map[string][]acknowledgement // by key, growing
		recent  [4]string                    // the keys of the last acknowledgements, "" where there was none yet
		next    int                          // the place in recent that is overwritten next
	}
}

// acknowledgement is a state of an object that the server has confirmed.
type acknowledgement struct {
	rv uint64
	// ending says that a deletion of it was asked for.
	ending bool
}

func newHistory() *history {
	h := &history{}
	h.mu.objects = map[string][]acknowledgement{}
	return h
}

func keyOf(name string) string { return follow.Namespace + "/" + name }

// acknowledged takes a state of the object in.
func (h *history) acknowledged(key string, rv uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.objects[key] = append(h.mu.objects[key], acknowledgement{rv: rv})
	h.mu.recent[h.mu.next] = key
	h.mu.next = (h.mu.next + 1) % len(h.mu.recent)
}

// recent returns the keys of the last few acknowledgements.
func (h *history) recent() [4]string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.mu.recent
}

// ending notes, before a deletion is asked for, that the last state may end.
func (h *history) ending(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if all := h.mu.objects[key]; len(all) > 0 {
		all[len(all)-1].ending = true
	}
}

// settle forgets all but the last of each object. It weakens checks of states that are older than
// now.
func (h *history) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, all := range h.mu.objects {
		h.mu.objects[key] = all[len(all)-1:]
	}
}

// keys calls yield with each key of which something was acknowledged.
func (h *history) keys(yield func(key string) bool) {
	h.mu.RLock()
	keys := make([]string, 0, len(h.mu.objects))
	for key := range h.mu.objects {
		keys = append(keys, key)
	}
	h.mu.RUnlock()
	for _, key := range keys {
		if !yield(key) {
			return
		}
	}
}

// contradicts says what is wrong with an object of a state; nothing if it may be right. The state
// is that at a resourceVersion, or, if it may be later, has at least all changes up to there.
func (h *history) contradicts(key string, at uint64, later bool, state follow.State, exists bool) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var last acknowledgement
	ended := false // whether it may be gone
	for _, a := range h.mu.objects[key] {
		if a.rv <= at {
			last, ended = a, a.ending
		} else if later {
			ended = ended || a.ending
		}
	}
	switch {
	case exists && state.RV < last.rv:
		return fmt.Sprintf("%s at %v, though %d was acknowledged", key, state, last.rv)
	case !exists && last.rv > 0 && !ended:
		return fmt.Sprintf("%s is missing, though %d was acknowledged", key, last.rv)
	default:
		return ""
	}
}
