// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

// An audit finds an illegal write to the store.
func ExampleOnce() {
	server := cachetest.Of(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}},
	)
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { informer.RunWithContext(ctx) })
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}

	report, err := audit.Once(ctx, informer, audit.Options{})
	fmt.Println(report, err)

	lost, _, _ := informer.GetStore().GetByKey("default/a")
	_ = informer.GetStore().Delete(lost)
	report, err = audit.Once(ctx, informer, audit.Options{Repair: true})
	fmt.Println(report, err)
	// Output:
	// *v1.ConfigMap: 2 objects at version "3", by versions: as on the server <nil>
	// *v1.ConfigMap: 1 object at version "3", by versions: 1 missing, confirmed 1 missing (missing default/a); repaired by a relist <nil>
}

// All informers of a program are audited, also those of frameworks. The program decides what to do
// with the reports.
func ExampleRunAll() {
	server := cachetest.Of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() {
		err := audit.RunAll(ctx, audit.RunOptions{
			Options: audit.Options{Repair: true},
			OnReport: func(report audit.Report, err error) {
				if err != nil || !report.Equal() {
					log.Print(report, err)
				}
			},
		})
		fmt.Println(err)
	})
	fmt.Println(kinformer.WaitForSync(ctx, informer))
	cancel()
	running.Wait()
	// Output:
	// <nil>
	// context canceled
}
