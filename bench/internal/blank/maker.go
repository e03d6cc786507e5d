// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache/bench/internal/workload"
	"github.com/kinformer/cache/bench/internal/world"
)

// maker makes objects with marks, of a deployment.
type maker struct {
	pod        *corev1.Pod // that runs and is ready
	name       string      // of the deployment
	deployment int
}

// newMaker takes a pod of the benchmark of stores and marks what differs between the pods of the
// deployment.
func newMaker(c Config, deployment int) *maker {
	like := workload.Config{N: c.Deployments * workload.PodsPerDeployment, Seed: c.Seed}
	pod := workload.Pod(like, deployment*workload.PodsPerDeployment)
	m := &maker{pod: marked(pod), name: pod.Labels["app.kubernetes.io/name"], deployment: deployment}
	markTimes(m.pod)
	return m
}

// marked puts marks in the place of names, wherever they stand.
func marked(pod *corev1.Pod) *corev1.Pod {
	hash := pod.Labels["pod-template-hash"]
	own := pod.OwnerReferences[0]
	pairs := []string{
		pod.Name, strings.TrimSuffix(own.Name, hash) + mark(template, 0) + "-" + mark(suffix, 0),
		hash, mark(template, 0), string(own.UID), mark(owner, 0), string(pod.UID), mark(uid, 0),
		pod.Annotations["cni.projectcalico.org/podIP"], mark(address, 0),
		pod.Annotations["cni.projectcalico.org/containerID"], mark(container, 2),
		pod.Status.PodIP, mark(address, 0), pod.Status.HostIP, mark(address, 1),
		pod.Spec.NodeName, nodeName,
		pod.Spec.Volumes[len(pod.Spec.Volumes)-1].Name, "kube-api-access-" + mark(suffix, 0),
	}
	for i, status := range pod.Status.ContainerStatuses {
		pairs = append(pairs, strings.TrimPrefix(status.ContainerID, "containerd://"), mark(container, i))
	}
	text, err := json.Marshal(pod)
	if err != nil {
		panic(err) // a Pod can be encoded
	}
	marked := &corev1.Pod{}
	if err := json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(string(text))), marked); err != nil {
		panic(err)
	}
	marked.ResourceVersion = mark(version, 0)
	marked.Annotations[DueAnnotation] = mark(due, 0)
	return marked
}

var nodeName = "node-" + mark(node, 0) + ".eu-central-1.compute.internal"

func markTimes(pod *corev1.Pod) {
	made, now := metav1.NewTime(timeMark(created)), metav1.NewTime(timeMark(changed))
	pod.CreationTimestamp, pod.Status.StartTime = made, &made
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = made
	}
	pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = now // Ready
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].State.Running.StartedAt = made
	}
	pod.ManagedFields[0].Time, pod.ManagedFields[1].Time = &made, &now
}

// object makes the object of a form.
func (m *maker) object(r world.Resource, shape world.Shape) runtime.Object {
	switch r {
	case world.Pods:
		return m.podAs(shape)
	case world.ReplicaSets:
		return m.set(shape)
	case world.Slices:
		return m.slice()
	case world.Events:
		return event(shape)
	case world.Nodes:
		return nodeAs(shape)
	default:
		return lease()
	}
}

// podAs makes a pod at a stage of its life.
func (m *maker) podAs(shape world.Shape) *corev1.Pod {
	pod := m.pod.DeepCopy()
	status := &pod.Status
	switch shape {
	case world.Pending, world.Scheduled:
		conditions := status.Conditions[:1]
		if shape == world.Pending {
			pod.Spec.NodeName, conditions = "", nil
		}
		pod.ManagedFields = pod.ManagedFields[:1]
		*status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: status.QOSClass, Conditions: conditions}
	case world.Starting:
		for i := range status.ContainerStatuses {
			status.ContainerStatuses[i].Ready = false
		}
		for i := len(status.Conditions) - 2; i < len(status.Conditions); i++ { // ContainersReady, Ready
			c := &status.Conditions[i]
			c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
			c.Message = "containers with unready status: [app]"
		}
	case world.Terminating:
		now, seconds := metav1.NewTime(timeMark(changed)), int64(30)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &seconds
	}
	return pod
}

// metaOf is the metadata of objects that are no pods.
func metaOf(name, namespace, manager, fields string) metav1.ObjectMeta {
	now := metav1.NewTime(timeMark(changed))
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID(mark(uid, 0)), ResourceVersion: mark(version, 0),
		CreationTimestamp: metav1.NewTime(timeMark(created)),
		Annotations:       map[string]string{DueAnnotation: mark(due, 0)},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			Time: &now, FieldsV1: metav1.NewFieldsV1(fields),
		}},
	}
}

func namespaceOf(number int) string { return fmt.Sprintf("team-%03d", number%1000) }
