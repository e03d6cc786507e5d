// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podStatus is that of a pod that runs and is ready.
func podStatus(id identity, containers []corev1.Container, ofPod *rand.Rand) corev1.PodStatus {
	var (
		started = metav1.NewTime(id.created.Add(2 * time.Second))
		podIP   = address(ofPod)
		hostIP  = address(ofPod)
		ready   = true
	)
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		QOSClass:  corev1.PodQOSBurstable,
		HostIP:    hostIP,
		HostIPs:   []corev1.HostIP{{IP: hostIP}},
		PodIP:     podIP,
		PodIPs:    []corev1.PodIP{{IP: podIP}},
		StartTime: &started,
	}
	for offset, kind := range []corev1.PodConditionType{
		corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(id.created.Add(time.Duration(offset) * time.Second)),
		})
	}
	for _, c := range containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: ready, Started: &ready,
			ImageID:     c.Image + "@sha256:" + digest(ofPod),
			ContainerID: "containerd://" + digest(ofPod),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		})
	}
	return status
}

func digest(random *rand.Rand) string {
	return fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
}

// managedFields records the two managers of a pod that a deployment made: the
// controller manager for metadata and spec, the kubelet for the status.
func managedFields(id identity, containers []corev1.Container) []metav1.ManagedFieldsEntry {
	created := metav1.NewTime(id.created)
	reported := metav1.NewTime(id.created.Add(5 * time.Second))
	return []metav1.ManagedFieldsEntry{
		{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", Time: &created, FieldsV1: metav1.NewFieldsV1(string(specFields(id, containers))),
		},
		{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Subresource: "status",
			FieldsType: "FieldsV1", Time: &reported, FieldsV1: metav1.NewFieldsV1(string(statusFields())),
		},
	}
}

// specFields is the field set of metadata and spec, in the form that the API
// server stores.
func specFields(id identity, containers []corev1.Container) []byte {
	var b strings.Builder
	b.WriteString(`{"f:metadata":{"f:generateName":{},"f:labels":{".":{}`)
	for _, label := range []string{"name", "instance", "version", "component", "part-of", "managed-by"} {
		fmt.Fprintf(&b, `,"f:app.kubernetes.io/%s":{}`, label)
	}
	fmt.Fprintf(&b, `,"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:containers":{`, id.owner)
	for i, c := range containers {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"name\":\"%s\"}":{".":{},"f:env":{".":{}`, c.Name)
		for _, e := range c.Env {
			fmt.Fprintf(&b, `,"k:{\"name\":\"%s\"}":{".":{},"f:name":{},"f:value":{}}`, e.Name)
		}
		b.WriteString(`},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}`)
	}
	b.WriteString(`},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:serviceAccount":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{}}}`)
	return []byte(b.String())
}

// statusFields is the field set of the status, the same for every pod.
func statusFields() []byte {
	var b strings.Builder
	b.WriteString(`{"f:status":{"f:conditions":{`)
	for i, kind := range []string{"ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"} {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"type\":\"%s\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}`, kind)
	}
	b.WriteString(`},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.0.1\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`)
	return []byte(b.String())
}
