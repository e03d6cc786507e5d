// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// name is the namespace and the name of an object.
type name = types.NamespacedName

// doomed is the namespace that is deleted.
const doomed = "doomed"

// want is the wanted state after convergence: names, and numbers of pods.
type want struct {
	namespaces                      map[string]bool
	deployments, statefulSets, jobs map[name]int32
	daemonSet                       name
}

// newWant returns a random workload with the given number of pods.
func newWant(nodes, pods int, random *rand.Rand) *want {
	w := &want{namespaces: map[string]bool{"a": true, "b": true, "c": true, doomed: true}, daemonSet: name{Namespace: "a", Name: "agent"},
		deployments: map[name]int32{}, statefulSets: map[name]int32{}, jobs: map[name]int32{}}
	namespaces := slices.Sorted(maps.Keys(w.namespaces))
	some := func(kind string, of map[name]int32, least, most int) int {
		size := least + random.IntN(most-least+1)
		of[name{Namespace: namespaces[len(of)%len(namespaces)], Name: fmt.Sprint(kind, "-", len(of))}] = int32(size)
		return size
	}
	left := pods - nodes
	for range 5 {
		left -= some("set", w.statefulSets, 1, 1+pods/100)
	}
	for range 10 {
		left -= some("job", w.jobs, 1, 1+pods/200)
	}
	for left > 0 {
		left -= some("web", w.deployments, min(20, left), min(60, left))
	}
	return w
}

// names returns the names in m in random order.
func names(m map[name]int32, random *rand.Rand) []name {
	sorted := slices.SortedFunc(maps.Keys(m), func(a, b name) int { return strings.Compare(a.String(), b.String()) })
	random.Shuffle(len(sorted), func(i, j int) { sorted[i], sorted[j] = sorted[j], sorted[i] })
	return sorted
}

// create creates the workload, with a Service for each Deployment.
func (r *run) create(ctx context.Context) error {
	r.want = newWant(r.options.nodes, r.options.pods, r.random)
	for namespace := range r.want.namespaces {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := r.client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, n := range names(r.want.deployments, r.random) {
		if err := r.createDeployment(ctx, n, r.want.deployments[n]); err != nil {
			return err
		}
	}
	for _, n := range names(r.want.statefulSets, r.random) {
		replicas := r.want.statefulSets[n]
		set := &appsv1.StatefulSet{ObjectMeta: meta(n), Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector(n), Template: r.template(n),
			ServiceName: n.Name, PodManagementPolicy: appsv1.ParallelPodManagement}}
		if _, err := r.client.AppsV1().StatefulSets(n.Namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, n := range names(r.want.jobs, r.random) {
		count, template := r.want.jobs[n], r.template(n)
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job := &batchv1.Job{ObjectMeta: meta(n), Spec: batchv1.JobSpec{Completions: &count, Parallelism: &count, Template: template}}
		if _, err := r.client.BatchV1().Jobs(n.Namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	n := r.want.daemonSet
	daemons := &appsv1.DaemonSet{ObjectMeta: meta(n), Spec: appsv1.DaemonSetSpec{Selector: selector(n), Template: r.template(n)}}
	_, err := r.client.AppsV1().DaemonSets(n.Namespace).Create(ctx, daemons, metav1.CreateOptions{})
	return err
}

func (r *run) createDeployment(ctx context.Context, n name, replicas int32) error {
	deployment := &appsv1.Deployment{ObjectMeta: meta(n), Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(n), Template: r.template(n)}}
	if _, err := r.client.AppsV1().Deployments(n.Namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: meta(n), Spec: corev1.ServiceSpec{Selector: labels(n), Ports: []corev1.ServicePort{{Port: 80}}}}
	_, err := r.client.CoreV1().Services(n.Namespace).Create(ctx, service, metav1.CreateOptions{})
	return err
}

func meta(n name) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name} }

func labels(n name) map[string]string { return map[string]string{"app": n.Name} }

func selector(n name) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: labels(n)} }

// template returns the template of pods of about 5 KB.
func (r *run) template(n name) (t corev1.PodTemplateSpec) {
	t.Labels = labels(n)
	c := corev1.Container{Name: "main", Image: "registry.example.com/" + n.Name + ":1"}
	c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("20m"), "memory": resource.MustParse("64Mi")}
	for i := range 40 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_OF_THE_PROGRAM_", i), Value: fmt.Sprintf("%064x", r.random.Uint64())})
	}
	t.Spec.Containers = []corev1.Container{c}
	return t
}
