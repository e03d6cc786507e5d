// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unittest is a small controller with a unit test that needs no server: the test scripts a
// ListerWatcher of package cachetest, and time is that of testing/synctest.
package unittest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache"
)

// Alarm calls Raise once for each failed pod, and Clear when the pod has recovered or is deleted.
type Alarm struct {
	Raise, Clear func(pod cache.ObjectName)

	raised map[cache.ObjectName]bool // used by the handler alone, which is called once at a time
}

// Run follows the pods of lw until ctx ends.
func (a *Alarm) Run(ctx context.Context, lw cache.ListerWatcher) error {
	a.raised = map[cache.ObjectName]bool{}
	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.look(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { a.look(obj.(*corev1.Pod)) },
		DeleteFunc: a.gone,
	})
	if err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

func (a *Alarm) look(pod *corev1.Pod) {
	a.set(cache.MetaObjectToName(pod), pod.Status.Phase == corev1.PodFailed)
}

// gone handles a deleted pod, or a tombstone if the informer missed the deletion.
func (a *Alarm) gone(obj any) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	a.set(name, false)
}

func (a *Alarm) set(pod cache.ObjectName, failed bool) {
	switch {
	case failed && !a.raised[pod]:
		a.raised[pod] = true
		a.Raise(pod)
	case !failed && a.raised[pod]:
		delete(a.raised, pod)
		a.Clear(pod)
	}
}
