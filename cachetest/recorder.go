// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"
)

// Recorder is a handler that records each call as a line, in the order of the calls, for comparison
// with the expected lines:
//
//	add default/a 2 initial
//	add default/b 5
//	update default/a 2 -> 6
//	delete default/a 7
//	delete default/b 5 unknown
//
// The numbers are resourceVersions. "initial" is isInInitialList, "unknown" is a
// DeletedFinalStateUnknown.
//
// The zero value is ready to use. A Recorder must not be copied, and one of a synctest bubble must be
// used only inside the bubble.
type Recorder struct {
	// Describe formats an object, instead of its key and resourceVersion. Set it before the first call.
	// It formats both objects of an update.
	Describe func(obj any) string

	mu struct {
		sync.Mutex
		lines   []string
		changed signal
	}
}

var _ clientgo.ResourceEventHandler = (*Recorder)(nil)

// OnAdd records an add.
func (r *Recorder) OnAdd(obj any, isInInitialList bool) {
	line := "add " + r.describe(obj)
	if isInInitialList {
		line += " initial"
	}
	r.record(line)
}

// OnUpdate records an update.
func (r *Recorder) OnUpdate(oldObj, newObj any) {
	if r.Describe != nil {
		r.record("update " + r.Describe(oldObj) + " -> " + r.Describe(newObj))
		return
	}
	_, rv := describe(newObj)
	r.record("update " + r.describe(oldObj) + " -> " + rv)
}

// OnDelete records a delete.
func (r *Recorder) OnDelete(obj any) {
	if unknown, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		r.record("delete " + r.describeUnknown(unknown) + " unknown")
		return
	}
	r.record("delete " + r.describe(obj))
}

// Events returns the lines so far.
func (r *Recorder) Events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.mu.lines)
}

// Take returns the lines so far, and removes them.
func (r *Recorder) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.mu.lines
	r.mu.lines = nil
	return lines
}

// String returns the lines so far, each with its newline.
func (r *Recorder) String() string { return strings.Join(append(r.Events(), ""), "\n") }

// Wait waits until there are n lines, and returns all lines.
func (r *Recorder) Wait(ctx context.Context, n int) ([]string, error) {
	for {
		r.mu.Lock()
		lines, changed := slices.Clone(r.mu.lines), r.mu.changed.wait()
		r.mu.Unlock()
		if len(lines) >= n {
			return lines, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return lines, fmt.Errorf("cachetest: waited for %d events, got %d (%s): %w", n, len(lines),
				bounded(lines, func(line string) string { return line }), context.Cause(ctx))
		}
	}
}

func (r *Recorder) record(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.lines = append(r.mu.lines, line)
	r.mu.changed.notify()
}

func (r *Recorder) describeUnknown(unknown clientgo.DeletedFinalStateUnknown) string {
	if unknown.Obj == nil {
		return unknown.Key
	}
	return r.describe(unknown.Obj)
}

func (r *Recorder) describe(obj any) string {
	if r.Describe != nil {
		return r.Describe(obj)
	}
	key, rv := describe(obj)
	return key + " " + rv
}

// describe returns the key and the resourceVersion, or the type of an object without metadata.
func describe(obj any) (key, rv string) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj), "?"
	}
	return keyOf(m), m.GetResourceVersion()
}
