// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Controller is the classic controller: leader election, a factory with kinformer's informers, and
// client-go's workqueue. It writes a checksum of each ConfigMap labeled
// example.kinformer.io/checksum=wanted into an annotation, and its Lease in the namespace default.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/factory"
)

const checksum = "example.kinformer.io/checksum" // the label that requests a checksum, and the annotation with the checksum

func main() { example.Main(run) }

// run works while this process holds the lease, which it releases after all work has ended.
func run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leading := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "kinformer-example-controller"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: string(uuid.NewUUID())},
		},
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leader context.Context) { leading <- leader }, OnStoppedLeading: func() {},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	standing, resign := context.WithCancel(context.WithoutCancel(ctx))
	var election sync.WaitGroup
	election.Go(func() { elector.Run(standing) })
	defer election.Wait()
	defer resign()
	select {
	case <-ctx.Done():
		return nil
	case leader := <-leading:
		leader, stop := context.WithCancel(leader)
		defer context.AfterFunc(ctx, stop)()
		fmt.Println("leading")
		return errors.Join(control(leader, client), errors.New("lost the lease")) // no error if ctx has ended: see example.Main
	}
}

// control creates the informer, the queue and the handler, and works until ctx ends.
func control(ctx context.Context, client kubernetes.Interface) error {
	tweak := func(o *metav1.ListOptions) { o.LabelSelector = checksum + "=wanted" }
	f := factory.Wrap(informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(tweak)), factory.WithTweakListOptions(tweak))
	configMaps := f.Core().V1().ConfigMaps()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer context.AfterFunc(ctx, queue.ShutDown)()
	enqueue := func(obj any) { queue.Add(cache.MetaObjectToName(obj.(*corev1.ConfigMap))) }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }}
	if _, err := configMaps.Informer().AddEventHandler(handler); err != nil {
		return err
	}
	f.StartWithContext(ctx)
	defer f.Shutdown()
	if synced := f.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		return synced.AsError()
	}
	for name, ended := queue.Get(); !ended; name, ended = queue.Get() {
		if err := sign(ctx, client, configMaps.Lister(), name); err == nil || apierrors.IsNotFound(err) { // the ConfigMap is signed or deleted
			queue.Forget(name)
		} else {
			utilruntime.HandleErrorWithContext(ctx, err, "Trying again later", "configMap", name)
			queue.AddRateLimited(name)
		}
		queue.Done(name)
	}
	return nil
}

// sign writes the checksum unless it is already stored.
func sign(ctx context.Context, client kubernetes.Interface, lister corelisters.ConfigMapLister, name cache.ObjectName) error {
	found, err := lister.ConfigMaps(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, found.Data)))
	if found.Annotations[checksum] != sum {
		found = found.DeepCopy() // objects returned by a lister are shared
		metav1.SetMetaDataAnnotation(&found.ObjectMeta, checksum, sum)
		_, err = client.CoreV1().ConfigMaps(name.Namespace).Update(ctx, found, metav1.UpdateOptions{})
		fmt.Printf("%s: checksum %.8s written: %t\n", name, sum, err == nil)
	}
	return err
}
