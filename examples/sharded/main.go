// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Sharded is a controller whose replicas divide the work: the replica that owns a shard handles the
// objects of that shard. The number of shards is the number of replicas. client-go's leader election
// assigns shards by a Lease for each shard: see owner below. The program writes the Leases
// kinformer-example-shard-0 and following in the namespace default.
//
//	sharded -replica 0 -of 3    and with -replica 1 and -replica 2, as a StatefulSet numbers them
package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/examples/internal/example"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

var (
	replica = flag.Int("replica", 0, "number of this replica, from 0")
	of      = flag.Int("of", 1, "number of replicas, and of shards")
	lease   = flag.Duration("lease", 15*time.Second, "time after which a replica that does not renew its Lease loses a shard")
)

func main() { example.Main(run) }

// run follows the ConfigMaps of the shards that this replica owns, until ctx ends.
func run(ctx context.Context, config *rest.Config) error {
	if *replica < 0 || *replica >= *of {
		return fmt.Errorf("-replica is %d: it counts from 0, and is less than -of, which is %d", *replica, *of)
	}
	client := kubernetes.NewForConfigOrDie(config)
	all := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", metav1.NamespaceAll, fields.Everything())
	informer, shards := sources.New(&corev1.ConfigMap{}, kinformer.Options{})
	work := func(obj any) { fmt.Println(cache.MetaObjectToName(obj.(*corev1.ConfigMap))) }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: work}); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	for shard := range *of {
		name, o := fmt.Sprint(shard), owner{client: client, shard: shard}
		o.take, o.leave = func() { shards.Put(name, sources.Shard(all, shard, *of)) }, func() { _ = shards.Remove(name) }
		running.Go(func() { o.run(ctx) })
	}
	informer.RunWithContext(ctx)
	return ctx.Err()
}

// owner owns a shard while it holds the Lease of the shard. A replica tries to acquire the shard of its
// own number at once, and the others after the duration of a lease, so that each replica gets one shard
// if all are started together. A shard stays with its replica until that replica ends or crashes.
//
// A replica that is late in renewing a Lease gives up the shard before another replica can acquire it,
// and a replica that ends releases its Leases. A write of the former owner may still be in flight then;
// if that matters, writes should compare resourceVersions.
type owner struct {
	client      kubernetes.Interface
	shard       int
	take, leave func()
	mu          sync.Mutex
	has         bool
}

// started is called in its own goroutine, possibly after stopped; then leading has ended.
func (o *owner) started(leading context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.has = leading.Err() == nil; o.has {
		fmt.Printf("replica %d has shard %d\n", *replica, o.shard)
		o.take()
	}
}

// stopped is also called if the shard was never owned.
func (o *owner) stopped() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.has {
		o.leave()
	}
	o.has = false
}

func (o *owner) run(ctx context.Context) {
	if o.shard != *replica {
		select {
		case <-ctx.Done():
			return
		case <-time.After(*lease):
		}
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprint("kinformer-example-shard-", o.shard)},
		Client:    o.client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprint("replica-", *replica)},
	}
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: *lease, RenewDeadline: *lease * 2 / 3, RetryPeriod: *lease / 10, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: o.started, OnStoppedLeading: o.stopped},
		})
	}
}
