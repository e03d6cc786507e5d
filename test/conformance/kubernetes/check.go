// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// state holds all objects of the checked kinds on a server.
type state struct {
	namespaces   []corev1.Namespace
	nodes        []corev1.Node
	pods         []corev1.Pod
	services     []corev1.Service
	slices       []discoveryv1.EndpointSlice
	deployments  []appsv1.Deployment
	replicaSets  []appsv1.ReplicaSet
	statefulSets []appsv1.StatefulSet
	daemonSets   []appsv1.DaemonSet
	jobs         []batchv1.Job
}

// read reads the state from the server, not from an informer.
func read(ctx context.Context, client kubernetes.Interface) (s state, err error) {
	core, apps := client.CoreV1(), client.AppsV1()
	err = errors.Join(
		list(ctx, core.Namespaces().List, func(l *corev1.NamespaceList) { s.namespaces = l.Items }),
		list(ctx, core.Nodes().List, func(l *corev1.NodeList) { s.nodes = l.Items }),
		list(ctx, core.Services("").List, func(l *corev1.ServiceList) { s.services = l.Items }),
		list(ctx, client.DiscoveryV1().EndpointSlices("").List, func(l *discoveryv1.EndpointSliceList) { s.slices = l.Items }),
		list(ctx, apps.Deployments("").List, func(l *appsv1.DeploymentList) { s.deployments = l.Items }),
		list(ctx, apps.ReplicaSets("").List, func(l *appsv1.ReplicaSetList) { s.replicaSets = l.Items }),
		list(ctx, apps.StatefulSets("").List, func(l *appsv1.StatefulSetList) { s.statefulSets = l.Items }),
		list(ctx, apps.DaemonSets("").List, func(l *appsv1.DaemonSetList) { s.daemonSets = l.Items }),
		list(ctx, client.BatchV1().Jobs("").List, func(l *batchv1.JobList) { s.jobs = l.Items }),
		list(ctx, core.Pods("").List, func(l *corev1.PodList) { s.pods = l.Items }))
	return s, err
}

func list[L runtime.Object](ctx context.Context, from func(context.Context, metav1.ListOptions) (L, error), take func(L)) error {
	l, err := from(ctx, metav1.ListOptions{})
	if err == nil {
		take(l)
	}
	return err
}

// faults lists the deviations of a state from the wanted one.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// check compares the state with w and the names of the wanted nodes.
func (s *state) check(w *want, nodes []string) (f faults) {
	s.checkNodes(&f, w, nodes)
	s.checkControllers(&f, w, len(nodes))
	s.checkPods(&f, nodes)
	s.checkEndpoints(&f)
	return f
}

func (s *state) checkNodes(f *faults, w *want, nodes []string) {
	for _, n := range s.namespaces {
		if !w.namespaces[n.Name] && n.Name != metav1.NamespaceDefault && !strings.HasPrefix(n.Name, "kube-") {
			f.add("namespace %s is still there", n.Name)
		}
	}
	for _, n := range s.nodes {
		switch {
		case !slices.Contains(nodes, n.Name):
			f.add("node %s is still there", n.Name)
		case len(n.Spec.Taints) > 0:
			f.add("node %s has the taint %s", n.Name, n.Spec.Taints[0].Key)
		}
	}
	if len(s.nodes) != len(nodes) {
		f.add("there are %d of %d nodes", len(s.nodes), len(nodes))
	}
}

// checkControllers checks that exactly the controllers in w exist, and that each reports completion.
func (s *state) checkControllers(f *faults, w *want, nodes int) {
	deployments, statefulSets, jobs := map[name]string{}, map[name]string{}, map[name]string{}
	for _, d := range s.deployments {
		n := w.deployments[nameOf(&d)]
		isDone := d.Status.ObservedGeneration == d.Generation && *d.Spec.Replicas == n && d.Status.Replicas == n &&
			d.Status.UpdatedReplicas == n && d.Status.ReadyReplicas == n && d.Status.AvailableReplicas == n
		deployments[nameOf(&d)] = progress(isDone, d.Status.ReadyReplicas, n)
	}
	for _, d := range s.statefulSets {
		n := w.statefulSets[nameOf(&d)]
		isDone := d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == n && d.Status.ReadyReplicas == n && d.Status.AvailableReplicas == n
		statefulSets[nameOf(&d)] = progress(isDone, d.Status.ReadyReplicas, n)
	}
	for _, j := range s.jobs {
		n := w.jobs[nameOf(&j)]
		isDone := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete })
		jobs[nameOf(&j)] = progress(isDone && j.Status.Succeeded == n, j.Status.Succeeded, n)
	}
	compare(f, "Deployment", deployments, w.deployments)
	compare(f, "StatefulSet", statefulSets, w.statefulSets)
	compare(f, "Job", jobs, w.jobs)
	for _, d := range s.daemonSets {
		if n := int(d.Status.NumberReady); n != nodes || int(d.Status.DesiredNumberScheduled) != nodes {
			f.add("DaemonSet %s has %d of %d pods ready", nameOf(&d), n, nodes)
		}
	}
}

// progress returns "" if isDone is set.
func progress(isDone bool, ready, wanted int32) string {
	if isDone {
		return ""
	}
	return fmt.Sprintf("%d of %d pods are ready", ready, wanted)
}

func compare(f *faults, kind string, have map[name]string, wanted map[name]int32) {
	for n, state := range have {
		if _, ok := wanted[n]; !ok {
			f.add("%s %s is still there", kind, n)
		} else if state != "" {
			f.add("%s %s: %s", kind, n, state)
		}
	}
	for n := range wanted {
		if _, ok := have[n]; !ok {
			f.add("%s %s is missing", kind, n)
		}
	}
}

// checkPods checks that deleted controllers have no objects left, and that each ReplicaSet has its
// number of pods, on existing nodes.
func (s *state) checkPods(f *faults, nodes []string) {
	deployments, owners := map[types.UID]bool{}, map[types.UID]bool{}
	for _, d := range s.deployments {
		deployments[d.UID] = true
	}
	for _, r := range s.replicaSets {
		owners[r.UID] = true
		if owner := metav1.GetControllerOf(&r); owner == nil || !deployments[owner.UID] {
			f.add("ReplicaSet %s has no Deployment", nameOf(&r))
		}
	}
	for _, o := range s.statefulSets {
		owners[o.UID] = true
	}
	for _, o := range s.daemonSets {
		owners[o.UID] = true
	}
	for _, o := range s.jobs {
		owners[o.UID] = true
	}
	pods := map[types.UID]int32{}
	for _, p := range s.pods {
		owner := metav1.GetControllerOf(&p)
		switch {
		case p.DeletionTimestamp != nil:
			f.add("pod %s is being deleted", nameOf(&p))
		case owner == nil || !owners[owner.UID]:
			f.add("pod %s has no controller", nameOf(&p))
		case !slices.Contains(nodes, p.Spec.NodeName):
			f.add("pod %s is on node %q, which is not there", nameOf(&p), p.Spec.NodeName)
		case owner.Kind != "Job" && !isReady(&p):
			f.add("pod %s is not ready", nameOf(&p))
		default:
			pods[owner.UID]++
		}
	}
	for _, r := range s.replicaSets {
		if pods[r.UID] != *r.Spec.Replicas {
			f.add("ReplicaSet %s has %d of %d pods", nameOf(&r), pods[r.UID], *r.Spec.Replicas)
		}
	}
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// endpoint is a pod as listed for a Service.
type endpoint struct {
	service  name
	ip, name string
	uid      types.UID
}

// checkEndpoints checks that each Service has exactly the ready pods, by address, name and UID.
func (s *state) checkEndpoints(f *faults) {
	wanted, services := map[endpoint]bool{}, map[name]types.UID{}
	for _, service := range s.services {
		if len(service.Spec.Selector) > 0 {
			services[nameOf(&service)] = service.UID
		}
	}
	for _, p := range s.pods {
		service := name{Namespace: p.Namespace, Name: p.Labels["app"]}
		if _, ok := services[service]; ok && isReady(&p) {
			wanted[endpoint{service, p.Status.PodIP, p.Name, p.UID}] = true
		}
	}
	for _, slice := range s.slices {
		service := name{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		if owner := metav1.GetControllerOf(&slice); owner == nil || owner.UID != services[service] {
			f.add("EndpointSlice %s has no Service", nameOf(&slice))
		}
		for _, e := range slice.Endpoints {
			have := endpoint{service: service, ip: e.Addresses[0]}
			if e.TargetRef != nil {
				have.name, have.uid = e.TargetRef.Name, e.TargetRef.UID
			}
			if !wanted[have] || !*e.Conditions.Ready {
				f.add("Service %s has the endpoint %s of pod %s (%s), which is not ready, or has it twice", service, have.ip, have.name, have.uid)
			}
			delete(wanted, have)
		}
	}
	for missing := range wanted {
		f.add("Service %s has no endpoint %s of pod %s (%s)", missing.service, missing.ip, missing.name, missing.uid)
	}
}

func nameOf(o metav1.Object) name { return name{Namespace: o.GetNamespace(), Name: o.GetName()} }
