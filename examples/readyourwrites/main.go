// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Readyourwrites counts up in a ConfigMap of its own in the namespace default, which it deletes at
// its end. It reads from the informer's cache, which is behind for a moment after each write. So it
// waits with cache.WaitForVersion until the cache has the version that the write returned. Without
// that, the next write may fail with a conflict.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
)

const (
	writes  = 5
	patient = 10 * time.Second // longer than the cache may take to show a write
)

func main() { example.Main(run) }

// run writes and reads, and removes what it wrote.
func run(ctx context.Context, config *rest.Config) (err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	counter := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "kinformer-example-"}, Data: map[string]string{"count": "0"}}
	if counter, err = configMaps.Create(ctx, counter, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, configMaps.Delete(context.WithoutCancel(ctx), counter.Name, metav1.DeleteOptions{}))
	}()

	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", metav1.NamespaceDefault, fields.Everything())
	informer := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(running) })
	defer group.Wait()
	defer stop()
	if err := seen(ctx, informer, counter.ResourceVersion); err != nil {
		return err
	}
	for range writes {
		if err := count(ctx, configMaps, informer, cache.MetaObjectToName(counter)); err != nil {
			return err
		}
	}
	return nil
}

// count adds one to what the cache shows, and returns when the cache shows that.
func count(ctx context.Context, configMaps corev1client.ConfigMapInterface, informer cache.SharedIndexInformer, name cache.ObjectName) error {
	cached, ok := cache.TypedGet[*corev1.ConfigMap](informer.GetStore(), name.String())
	if !ok {
		return errors.New("the cache has no counter")
	}
	n, err := strconv.Atoi(cached.Data["count"])
	if err != nil {
		return err
	}
	changed := cached.DeepCopy() // what is cached is shared
	changed.Data["count"] = strconv.Itoa(n + 1)
	written, err := configMaps.Update(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("the cache was behind, or somebody else counts: %w", err)
	} else if err != nil {
		return err
	}
	begin := time.Now()
	if err := seen(ctx, informer, written.ResourceVersion); err != nil {
		return err
	}
	fmt.Printf("wrote %d as version %s, which the cache had %s later\n", n+1, written.ResourceVersion, time.Since(begin))
	return nil
}

// seen waits until the informer's cache has come to a version.
func seen(ctx context.Context, informer cache.SharedIndexInformer, version string) error {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	return cache.WaitForVersion(ctx, informer.GetController(), version)
}
