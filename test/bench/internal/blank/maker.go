// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// maker makes the objects of a deployment, with marks.
type maker struct {
	pod        *corev1.Pod // running and ready
	name       string      // of the deployment
	deployment int
}

// newMaker returns a maker whose pod is one of package workload, with marks for the fields that
// differ between the pods of the deployment.
func newMaker(c Config, deployment int) *maker {
	like := workload.Config{N: c.Deployments * workload.PodsPerDeployment, Seed: c.Seed}
	pod := workload.Pod(like, deployment*workload.PodsPerDeployment)
	m := &maker{pod: marked(pod), name: pod.Labels["app.kubernetes.io/name"], deployment: deployment}
	markTimes(m.pod)
	return m
}

// marked returns a copy of a pod with marks instead of names, addresses and IDs, wherever they occur.
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

// LeaseNamespace is the namespace of all leases.
const LeaseNamespace = "kube-node-lease"

// LeaseName returns the name of a node, which is that of its lease, too.
func LeaseName(number uint32) string {
	return strings.Replace(nodeName, mark(node, 0), fmt.Sprintf("%0*d", widths[node], number), 1)
}

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

//go:embed objects
var manifests embed.FS

// read returns the manifest of that name, as JSON.
var read = func() func(name string) string {
	var known sync.Map
	return func(name string) string {
		text, there := known.Load(name)
		if !there {
			content, err := manifests.ReadFile("objects/" + name + ".yaml")
			utilruntime.Must(err)
			content, err = yaml.YAMLToJSON(content)
			utilruntime.Must(err)
			text, _ = known.LoadOrStore(name, string(content))
		}
		return text.(string)
	}
}()

// fill decodes a manifest into an object. Words that begin with $ are replaced by the marks of a
// part, or as in pairs.
func (m *maker) fill(into any, name string, part int, pairs ...string) {
	node := strings.Replace(nodeName, mark(node, 0), mark(node, part), 1)
	pairs = append(pairs, "$version", mark(version, 0), "$due", mark(due, 0), "$suffix", mark(suffix, part), "$uid", mark(uid, part), "$node", node,
		"$address", mark(address, part), "$template", mark(template, 0), "$owner", mark(owner, 0), "$deployment", m.name, "$namespace", m.pod.Namespace)
	for f, layout := range map[field]string{created: secondsLayout, changed: secondsLayout, renewed: microLayout} {
		pairs = append(pairs, [fields]string{created: "$created", changed: "$changed", renewed: "$renewed"}[f], timeMark(f).Format(layout))
	}
	utilruntime.Must(json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(read(name))), into))
}

// object makes the object of a form.
func (m *maker) object(r world.Resource, shape world.Shape) runtime.Object {
	if r == world.Pods {
		return m.podAs(shape)
	}
	made := Of(r).New()
	parent := world.UID(world.Resources+1, uint32(m.deployment))
	var reason, component, about string
	if r == world.Events {
		reason, component = [world.EventShapes]string{"Scheduled", "Pulled", "Created", "Started", "Killing"}[shape], "kubelet"
		about = fmt.Sprintf("team-%03d", shape*7)
		if shape == 0 {
			component = "default-scheduler"
		}
	}
	m.fill(made, r.String(), 0, "$parent", parent, "$reason", reason, "$component", component, "$about", about)
	switch o := made.(type) {
	case *appsv1.ReplicaSet:
		m.finish(o, shape)
	case *discoveryv1.EndpointSlice:
		o.Endpoints = make([]discoveryv1.Endpoint, world.PodsPerDeployment)
		for part := range o.Endpoints {
			m.fill(&o.Endpoints[part], "endpoint", part, "$zone", string(rune('a'+part%3)))
		}
	case *corev1.Node:
		if shape == world.Pressed {
			pressure := &o.Status.Conditions[1]
			pressure.Status, pressure.LastTransitionTime = corev1.ConditionTrue, pressure.LastHeartbeatTime
		}
	}
	return made
}

// finish sets the pod template of a replica set, and its replicas: all, half or none of the pods.
func (m *maker) finish(set *appsv1.ReplicaSet, shape world.Shape) {
	set.Labels = m.pod.Labels
	spec := &set.Spec.Template.Spec
	set.Spec.Template.Labels, *spec = m.pod.Labels, *m.pod.Spec.DeepCopy()
	spec.NodeName, spec.Tolerations, spec.Volumes = "", nil, spec.Volumes[:len(spec.Volumes)-1]
	for i := range spec.Containers {
		mounts := spec.Containers[i].VolumeMounts
		spec.Containers[i].VolumeMounts = mounts[:len(mounts)-1]
	}
	replicas := [world.SetShapes]int32{world.Full: world.PodsPerDeployment, world.Scaling: world.PodsPerDeployment / 2}[shape]
	set.Spec.Replicas = &replicas
	set.Status = appsv1.ReplicaSetStatus{Replicas: replicas, FullyLabeledReplicas: replicas, ReadyReplicas: replicas,
		AvailableReplicas: replicas, ObservedGeneration: 2}
}

// podAs makes a pod of a shape.
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
