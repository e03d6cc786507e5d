// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache/factory"
)

// A generated factory with informers of this library, and its listers.
func ExampleWrap() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})

	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
	pods := f.Core().V1().Pods().Lister()
	f.StartWithContext(ctx)
	if synced := f.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		fmt.Println(synced.AsError())
	}
	found, err := pods.Pods("default").List(labels.Everything())
	fmt.Println(len(found), err)

	cancel()
	f.Shutdown()
	// Output: 1 <nil>
}
