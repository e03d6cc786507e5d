// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/retry"
)

// A controller of cache.New whose process function may fail.
func ExampleProcess() {
	attempts, done := 0, make(chan struct{})
	process := retry.Process(retry.Policy{
		Backoff: wait.Backoff{Duration: time.Millisecond, Factor: 2, Steps: 10},
	}, func(any, bool) error {
		if attempts++; attempts < 3 {
			return errors.New("not yet")
		}
		close(done)
		return nil
	})
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)})
	controller := cache.New(&cache.Config{
		Queue:         queue,
		ListerWatcher: cachetest.Of(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}),
		ObjectType:    &corev1.ConfigMap{},
		Process:       process,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { controller.RunWithContext(ctx) })
	<-done
	cancel()
	group.Wait()
	fmt.Println(attempts, "attempts")
	// Output: 3 attempts
}
