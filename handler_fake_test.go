// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// journal is a handler that writes down what it hears, one line a call.
type journal struct {
	mu    sync.Mutex
	lines []string
	on    func(line string) // called in the handler, outside the lock; may be nil
}

func (j *journal) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	j.mu.Lock()
	j.lines = append(j.lines, line)
	j.mu.Unlock()
	if j.on != nil {
		j.on(line)
	}
}

// take returns the lines since the last take.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

func describe(obj any) string {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return fmt.Sprintf("unknown(%s)", describe(tombstone.Obj))
	}
	pod := obj.(*corev1.Pod)
	return pod.Name + pod.Labels["v"]
}

func (j *journal) OnAdd(obj any, initial bool) {
	if initial {
		j.note("initial %s", describe(obj))
	} else {
		j.note("add %s", describe(obj))
	}
}

func (j *journal) OnUpdate(old, new any) { j.note("update %s %s", describe(old), describe(new)) }
func (j *journal) OnDelete(obj any)      { j.note("delete %s", describe(obj)) }

// pod returns a pod whose version v is told by a label.
func pod(name, v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"v": v}}}
}

func podOf(name, version, uid string) *corev1.Pod {
	p := pod(name, version)
	p.UID = types.UID(uid)
	return p
}

// quietPanics has panics of handlers reported instead of ending the process, until the test ends. The result counts them.
func quietPanics(t *testing.T) func() int {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	var mu sync.Mutex // handlers may panic side by side
	count := 0
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(handlers[:0:0], func(context.Context, any) {
		mu.Lock()
		defer mu.Unlock()
		count++
	})
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}
