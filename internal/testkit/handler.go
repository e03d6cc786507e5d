// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// Journal is a handler that writes down what it hears, one line a call.
type Journal struct {
	mu    sync.Mutex
	lines []string
	On    func(line string) // called in the handler, outside the lock; may be nil
}

func (j *Journal) Note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	j.mu.Lock()
	j.lines = append(j.lines, line)
	j.mu.Unlock()
	if j.On != nil {
		j.On(line)
	}
}

// Take returns the lines since the last take.
func (j *Journal) Take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

func Describe(obj any) string {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		return fmt.Sprintf("unknown(%s)", Describe(tombstone.Obj))
	}
	pod := obj.(*corev1.Pod)
	return pod.Name + pod.Labels["v"]
}

func (j *Journal) OnAdd(obj any, initial bool) {
	if initial {
		j.Note("initial %s", Describe(obj))
	} else {
		j.Note("add %s", Describe(obj))
	}
}

func (j *Journal) OnUpdate(old, new any) { j.Note("update %s %s", Describe(old), Describe(new)) }

func (j *Journal) OnDelete(obj any) { j.Note("delete %s", Describe(obj)) }

// Pod returns a pod whose version v is told by a label.
func Pod(name, v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"v": v}}}
}

func PodOf(name, version, uid string) *corev1.Pod {
	p := Pod(name, version)
	p.UID = types.UID(uid)
	return p
}

// QuietPanics has panics of handlers reported instead of ending the process, until the test ends.
// The result counts them.
func QuietPanics(t *testing.T) func() int {
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
