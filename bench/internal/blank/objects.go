// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache/bench/internal/world"
)

func lease() *coordinationv1.Lease {
	meta := metaOf(nodeName, "kube-node-lease", "kubelet",
		`{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"\"}":{}}},"f:spec":{"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:renewTime":{}}}`)
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: nodeName, UID: types.UID(mark(owner, 0))}}
	seconds, now, holder := int32(40), metav1.NewMicroTime(timeMark(renewed)), nodeName
	return &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now,
	}}
}

// set makes a replica set: full, half way, or empty.
func (m *maker) set(shape world.Shape) *appsv1.ReplicaSet {
	meta := metaOf(m.name+"-"+mark(template, 0), m.pod.Namespace, "kube-controller-manager",
		`{"f:status":{"f:availableReplicas":{},"f:fullyLabeledReplicas":{},"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{}}}`)
	labels := map[string]string{"app.kubernetes.io/name": m.name, "pod-template-hash": mark(template, 0)}
	meta.Labels = m.pod.Labels
	meta.Annotations["deployment.kubernetes.io/desired-replicas"] = fmt.Sprint(world.PodsPerDeployment)
	yes := true
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: m.name,
		UID: types.UID(world.UID(world.Resources+1, uint32(m.deployment))), Controller: &yes, BlockOwnerDeletion: &yes}}
	spec := m.pod.Spec.DeepCopy()
	spec.NodeName, spec.Tolerations, spec.Volumes = "", nil, spec.Volumes[:len(spec.Volumes)-1]
	for i := range spec.Containers {
		mounts := spec.Containers[i].VolumeMounts
		spec.Containers[i].VolumeMounts = mounts[:len(mounts)-1]
	}
	replicas := [world.SetShapes]int32{world.Full: world.PodsPerDeployment, world.Scaling: world.PodsPerDeployment / 2}[shape]
	return &appsv1.ReplicaSet{
		ObjectMeta: meta,
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: m.pod.Labels}, Spec: *spec},
		},
		Status: appsv1.ReplicaSetStatus{Replicas: replicas, FullyLabeledReplicas: replicas, ReadyReplicas: replicas,
			AvailableReplicas: replicas, ObservedGeneration: 2},
	}
}

// slice makes the endpoints of the deployment's service.
func (m *maker) slice() *discoveryv1.EndpointSlice {
	meta := metaOf(m.name+"-"+mark(suffix, 0), m.pod.Namespace, "kube-controller-manager",
		`{"f:addressType":{},"f:endpoints":{},"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/service-name":{}}},"f:ports":{}}`)
	meta.Labels = map[string]string{
		"kubernetes.io/service-name":             m.name,
		"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
	}
	meta.GenerateName = m.name + "-"
	name, port, protocol, yes, no := "http", int32(8080), corev1.ProtocolTCP, true, false
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &protocol}},
	}
	for part := range world.PodsPerDeployment {
		zone, host := fmt.Sprintf("eu-central-1%c", 'a'+part%3), strings.Replace(nodeName, mark(node, 0), mark(node, part), 1)
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{mark(address, part)},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
			NodeName:   &host, Zone: &zone,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: m.pod.Namespace,
				Name: m.name + "-5d9c7b8f4-" + mark(suffix, part), UID: types.UID(mark(uid, part))},
		})
	}
	return s
}

// event makes an event about a pod.
func event(shape world.Shape) *corev1.Event {
	reason := [world.EventShapes]string{"Scheduled", "Pulled", "Created", "Started", "Killing"}[shape]
	component := [world.EventShapes]string{"default-scheduler", "kubelet", "kubelet", "kubelet", "kubelet"}[shape]
	namespace := namespaceOf(int(shape) * 7)
	pod := "payments-api-7-" + mark(template, 0) + "-" + mark(suffix, 0)
	now := metav1.NewTime(timeMark(changed))
	return &corev1.Event{
		ObjectMeta: metaOf(pod+".17a8b"+mark(suffix, 0), namespace, component,
			`{"f:count":{},"f:firstTimestamp":{},"f:involvedObject":{},"f:lastTimestamp":{},"f:message":{},"f:reason":{},"f:reportingComponent":{},"f:source":{"f:component":{}},"f:type":{}}`),
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: pod,
			UID: types.UID(mark(owner, 0)), ResourceVersion: mark(version, 0)},
		Reason: reason, Message: reason + ": container app of pod " + pod + " on " + nodeName,
		Source:         corev1.EventSource{Component: component, Host: nodeName},
		FirstTimestamp: metav1.NewTime(timeMark(created)), LastTimestamp: now, Count: 1, Type: corev1.EventTypeNormal,
		ReportingController: component,
	}
}

// nodeAs makes a node that has enough disk, or has not.
func nodeAs(shape world.Shape) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metaOf(nodeName, "", "kubelet",
			`{"f:status":{"f:conditions":{"k:{\"type\":\"DiskPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"MemoryPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"PIDPressure\"}":{"f:lastHeartbeatTime":{}},"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{}}},"f:images":{}}}`),
		Spec: corev1.NodeSpec{PodCIDR: "10.100.0.0/24", PodCIDRs: []string{"10.100.0.0/24"}, ProviderID: "cloud:///eu-central-1a/" + mark(uid, 0)},
		Status: corev1.NodeStatus{
			Capacity: capacity("16", "61950"), Allocatable: capacity("15890m", "60000"),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: mark(address, 0)}, {Type: corev1.NodeHostName, Address: nodeName}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{MachineID: mark(uid, 0), SystemUUID: mark(uid, 0), BootID: mark(uid, 0),
				KernelVersion: "6.12.40", OSImage: "Bottlerocket OS 1.44", ContainerRuntimeVersion: "containerd://2.1.4",
				KubeletVersion: "v1.36.2", OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
	n.Labels = map[string]string{
		"kubernetes.io/hostname": nodeName, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"node.kubernetes.io/instance-type": "m7i.4xlarge", "topology.kubernetes.io/region": "eu-central-1",
		"topology.kubernetes.io/zone": "eu-central-1a", "karpenter.sh/nodepool": "default",
	}
	n.Status.Conditions = conditionsOf(shape)
	for i := range 20 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{SizeBytes: int64(10_000_000 * (i + 3)), Names: []string{
			fmt.Sprintf("registry.example.com/platform/image-%02d@sha256:%064x", i, world.Mix(uint64(i))),
			fmt.Sprintf("registry.example.com/platform/image-%02d:v1.%d.0", i, i)}})
	}
	return n
}

func conditionsOf(shape world.Shape) []corev1.NodeCondition {
	made, now := metav1.NewTime(timeMark(created)), metav1.NewTime(timeMark(changed))
	var all []corev1.NodeCondition
	for _, c := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		status, transition := corev1.ConditionFalse, made
		if c == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		if c == corev1.NodeDiskPressure && shape == world.Pressed {
			status, transition = corev1.ConditionTrue, now
		}
		all = append(all, corev1.NodeCondition{Type: c, Status: status, LastHeartbeatTime: now, LastTransitionTime: transition,
			Reason: "KubeletReports" + string(c), Message: "kubelet reports " + string(c)})
	}
	return all
}

func capacity(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory + "Mi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
}
