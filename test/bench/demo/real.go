// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
	"github.com/kinformer/cache/test/e2e/apiserver"
)

// real is the API server of the end-to-end tests, k8s.io/apiserver with etcd, as a process. The demo
// compiles neither.
type real struct {
	*apiserver.Server
	clients [world.Resources]*rest.RESTClient
	pods    []types.NamespacedName // in the order of a LIST
}

// startReal starts the server and creates its objects. The server does not end with ctx.
func startReal(ctx context.Context, binary string, pods int) (*real, error) {
	process, err := apiserver.StartChild(ctx, apiserver.Options{Binary: binary})
	if err != nil {
		return nil, err
	}
	s := &real{Server: process}
	if err := s.fill(ctx, pods); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// fill creates the pods, and the leases of nodes.
func (s *real) fill(ctx context.Context, pods int) (err error) {
	for _, of := range []world.Resource{world.Pods, world.Leases} {
		if s.clients[of], err = serve.Client(s.endpoint().config(false), of, blank.Protobuf); err != nil {
			return err
		}
	}
	failed := make(chan error)
	for first := range workers {
		go func() { failed <- s.fillFrom(ctx, first, pods) }()
	}
	for range workers {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, s.list(ctx))
}

// fillFrom creates the objects of a worker, whose first one has the given number.
func (s *real) fillFrom(ctx context.Context, first, pods int) (err error) {
	for i := first; i < pods && err == nil; i += workers {
		pod := workload.Pod(workload.Config{N: pods}, i)
		pod.ResourceVersion = ""
		err = s.create(ctx, world.Pods, pod)
	}
	for i := first; i < leases && err == nil; i += workers {
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = blank.LeaseNamespace, blank.LeaseName(uint32(i))
		err = s.create(ctx, world.Leases, lease)
	}
	return err
}

// create creates an object.
func (s *real) create(ctx context.Context, of world.Resource, object interface {
	metav1.Object
	runtime.Object
}) error {
	return s.clients[of].Post().Namespace(object.GetNamespace()).Resource(of.String()).Body(object).Do(ctx).Error()
}

// list stores the names of the pods.
func (s *real) list(ctx context.Context) error {
	var list corev1.PodList
	err := s.clients[world.Pods].Get().Resource(world.Pods.String()).Do(ctx).Into(&list)
	for i := range list.Items {
		s.pods = append(s.pods, types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name})
	}
	return err
}

func (s *real) endpoint() endpoint {
	at := s.Endpoint()
	return endpoint{at.URL, at.CA, at.Token}
}

// touch patches the status of a pod as a kubelet does, or renews a lease. It fails while the server is
// down.
func (s *real) touch(ctx context.Context, of world.Resource, number int) (string, error) {
	now := time.Now().UTC()
	patch := s.clients[of].Patch(types.MergePatchType).Namespace(blank.LeaseNamespace).Name(blank.LeaseName(uint32(number)))
	body := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, now.Format(metav1.RFC3339Micro))
	if of == world.Pods {
		name := s.pods[number]
		patch = s.clients[of].Patch(types.StrategicMergePatchType).Namespace(name.Namespace).Name(name.Name).SubResource("status")
		body = fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],"message":"update %d"}}`,
			now.Format(time.RFC3339), rand.Uint32())
	}
	object, err := patch.Resource(of.String()).Body([]byte(body)).Do(ctx).Get()
	if err != nil {
		return "", err
	}
	return object.(metav1.Object).GetResourceVersion(), nil
}

// cut compacts etcd and kills the server, which without the cache of its process has no history then.
func (s *real) cut(ctx context.Context) error {
	_, err := s.Compact(context.WithoutCancel(ctx))
	return errors.Join(err, s.Kill())
}

// restore starts the server again on its data.
func (s *real) restore(ctx context.Context) error { return s.Restart(context.WithoutCancel(ctx)) }

// stop ends the server and deletes its data.
func (s *real) stop() error { return s.Stop(context.Background()) }
