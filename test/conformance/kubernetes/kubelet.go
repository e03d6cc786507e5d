// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
)

// kubelets act as the kubelets of all nodes: they renew leases, run the pods bound to their nodes at
// once, and remove pods marked for deletion. Pods of a Job succeed.
type kubelets struct {
	client kubernetes.Interface
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu struct {
		sync.Mutex
		pods  map[types.NamespacedName]*corev1.Pod
		nodes map[string]bool // nodes that are alive
		ips   uint32          // the number of addresses assigned
	}
}

func newKubelets(client kubernetes.Interface) *kubelets {
	k := &kubelets{client: client, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())}
	k.mu.nodes = map[string]bool{}
	return k
}

// run handles pods until ctx is done.
func (k *kubelets) run(ctx context.Context) {
	context.AfterFunc(ctx, k.queue.ShutDown)
	for range 16 {
		go func() {
			for k.handleNext(ctx) {
			}
		}()
	}
	for ctx.Err() == nil {
		k.follow(ctx)
		sleep(ctx, time.Second)
	}
}

// follow lists and watches the pods until the watch ends.
func (k *kubelets) follow(ctx context.Context) {
	list, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.mu.Lock()
	k.mu.pods = map[types.NamespacedName]*corev1.Pod{}
	k.mu.Unlock()
	for i := range list.Items {
		k.take(&list.Items[i], false)
	}
	w, err := k.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			k.take(pod, event.Type == "DELETED")
		}
	}
}

func (k *kubelets) take(pod *corev1.Pod, gone bool) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	k.mu.Lock()
	defer k.mu.Unlock()
	if gone {
		delete(k.mu.pods, name)
		return
	}
	k.mu.pods[name] = pod
	if k.mu.nodes[pod.Spec.NodeName] {
		k.queue.Add(name)
	}
}

func (k *kubelets) handleNext(ctx context.Context) bool {
	name, shutdown := k.queue.Get()
	if shutdown {
		return false
	}
	defer k.queue.Done(name)
	k.mu.Lock()
	pod := k.mu.pods[name]
	isOurs := pod != nil && k.mu.nodes[pod.Spec.NodeName]
	k.mu.Unlock()
	if !isOurs {
		return true
	}
	if err := k.handle(ctx, pod); err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // an event follows each
		k.queue.Forget(name)
	} else {
		k.queue.AddRateLimited(name)
	}
	return true
}

func (k *kubelets) handle(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	switch {
	case pod.DeletionTimestamp != nil && *pod.DeletionGracePeriodSeconds > 0:
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	case pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending:
		_, err := pods.UpdateStatus(ctx, k.running(pod), metav1.UpdateOptions{})
		return err
	}
	return nil
}

// running returns the pod with the status of a ready pod or, if it is of a Job, of a succeeded one.
func (k *kubelets) running(pod *corev1.Pod) *corev1.Pod {
	pod, now := pod.DeepCopy(), metav1.Now()
	s := &pod.Status
	s.Phase, s.StartTime, s.PodIP = corev1.PodRunning, &now, k.newIP()
	s.PodIPs, s.HostIP = []corev1.PodIP{{IP: s.PodIP}}, "10.0.0.1"
	ready, state := corev1.ConditionTrue, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" {
		s.Phase, ready = corev1.PodSucceeded, corev1.ConditionFalse
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
	}
	for _, c := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: ready, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "sha256:0",
			ContainerID: "fake://" + string(pod.UID), Ready: ready == corev1.ConditionTrue, State: state})
	}
	return pod
}

// newIP returns an address not used before.
func (k *kubelets) newIP() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.ips++
	n := k.mu.ips
	return netip.AddrFrom4([4]byte{10, 128 + byte(n>>16), byte(n >> 8), byte(n)}).String()
}

// addNode creates a ready node and its lease, which is renewed until ctx is done.
func (k *kubelets) addNode(ctx context.Context, name string) error {
	k.mu.Lock()
	k.mu.nodes[name] = true // before its first pod
	k.mu.Unlock()
	now := metav1.Now()
	resources := corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("128Gi"), "pods": resource.MustParse("110")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	node.Status = corev1.NodeStatus{Capacity: resources, Allocatable: resources, Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now, Reason: "KubeletReady"}}}
	if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	seconds, renewed := int32(40), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &renewed}}
	_, err := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
	go k.beat(ctx, name)
	return err
}

// fail stops all activity of a node.
func (k *kubelets) fail(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.mu.nodes, node)
}

// alive returns the names of the nodes that have not failed.
func (k *kubelets) alive() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.mu.nodes {
		names = append(names, name)
	}
	return names
}

// isReadyPatch is a patch of a node. It changes only a node considered dead.
const isReadyPatch = `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}}`

// beat renews the lease of a node every ten seconds, and reports every minute that the node is ready,
// until the node fails or ctx is done. Errors are ignored: the next request is in time.
func (k *kubelets) beat(ctx context.Context, node string) {
	for i := 1; ctx.Err() == nil && slices.Contains(k.alive(), node); i++ {
		renewal := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
		k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
			Patch(ctx, node, types.MergePatchType, []byte(renewal), metav1.PatchOptions{})
		if i%6 == 0 {
			k.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(isReadyPatch), metav1.PatchOptions{}, "status")
		}
		sleep(ctx, 10*time.Second)
	}
}
