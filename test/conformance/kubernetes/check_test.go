// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func of(namespace, name, uid, kind, owner string) (m metav1.ObjectMeta) {
	m = metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}
	if kind != "" {
		yes := true
		m.OwnerReferences = []metav1.OwnerReference{{Kind: kind, UID: types.UID(owner), Controller: &yes}}
	}
	return m
}

// settled returns a wanted state and a state equal to it: a Deployment of two pods with a Service, and a
// complete Job.
func settled() (*want, *state) {
	web, job, two, ready := name{Namespace: "a", Name: "web"}, name{Namespace: "a", Name: "job"}, int32(2), true
	w := &want{namespaces: map[string]bool{"a": true}, deployments: map[name]int32{web: 2}, jobs: map[name]int32{job: 1}}
	s := &state{nodes: []corev1.Node{{ObjectMeta: of("", "n", "n", "", "")}}, namespaces: []corev1.Namespace{{ObjectMeta: of("", "a", "a", "", "")}}}
	s.deployments = []appsv1.Deployment{{ObjectMeta: of("a", "web", "d", "", ""), Spec: appsv1.DeploymentSpec{Replicas: &two},
		Status: appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}}}
	s.replicaSets = []appsv1.ReplicaSet{{ObjectMeta: of("a", "web-1", "r", "Deployment", "d"), Spec: appsv1.ReplicaSetSpec{Replicas: &two}}}
	s.services = []corev1.Service{{ObjectMeta: of("a", "web", "s", "", ""), Spec: corev1.ServiceSpec{Selector: labels(web)}}}
	slice := discoveryv1.EndpointSlice{ObjectMeta: of("a", "web-x", "e", "Service", "s")}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
	for i := range 2 {
		id := fmt.Sprint("p", i)
		pod := corev1.Pod{ObjectMeta: of("a", id, id, "ReplicaSet", "r"), Spec: corev1.PodSpec{NodeName: "n"}}
		pod.Labels, pod.Status.PodIP = labels(web), "10.0.0."+id
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		s.pods = append(s.pods, pod)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{pod.Status.PodIP},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: &corev1.ObjectReference{Name: id, UID: pod.UID}})
	}
	s.slices = []discoveryv1.EndpointSlice{slice}
	s.jobs = []batchv1.Job{{ObjectMeta: of("a", "job", "j", "", ""),
		Status: batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete}}}}}
	s.pods = append(s.pods, corev1.Pod{ObjectMeta: of("a", "job-x", "x", "Job", "j"), Spec: corev1.PodSpec{NodeName: "n"}})
	return w, s
}

// TestCheck checks that each deviation is reported with the name of the object.
func TestCheck(t *testing.T) {
	w, s := settled()
	require.Empty(t, s.check(w, []string{"n"}))
	for fault, change := range map[string]func(*want, *state){
		"namespace b is still there":              func(_ *want, s *state) { s.namespaces[0].Name = "b" },
		"node m is still there":                   func(_ *want, s *state) { s.nodes = append(s.nodes, corev1.Node{ObjectMeta: of("", "m", "m", "", "")}) },
		"there are 0 of 1 nodes":                  func(_ *want, s *state) { s.nodes = nil },
		"node n has the taint t":                  func(_ *want, s *state) { s.nodes[0].Spec.Taints = []corev1.Taint{{Key: "t"}} },
		"Deployment a/web: 1 of 2 pods are ready": func(_ *want, s *state) { s.deployments[0].Status.ReadyReplicas = 1 },
		"Deployment a/web: 2 of 3 pods are ready": func(w *want, _ *state) { w.deployments[name{Namespace: "a", Name: "web"}] = 3 },
		"Deployment a/web: 2 of 2 pods are ready": func(_ *want, s *state) { s.deployments[0].Generation = 2 },
		"Deployment a/web is still there":         func(w *want, _ *state) { clear(w.deployments) },
		"Deployment a/web is missing":             func(_ *want, s *state) { s.deployments = nil },
		"ReplicaSet a/web-1 has no Deployment":    func(_ *want, s *state) { s.deployments[0].UID = "other" },
		"Job a/job: 1 of 1 pods are ready":        func(_ *want, s *state) { s.jobs[0].Status.Conditions = nil },
		"StatefulSet a/set is missing":            func(w *want, _ *state) { w.statefulSets = map[name]int32{{Namespace: "a", Name: "set"}: 1} },
		"DaemonSet a/agent has 0 of 1 pods ready": func(_ *want, s *state) {
			s.daemonSets = []appsv1.DaemonSet{{ObjectMeta: of("a", "agent", "g", "", "")}}
		},
		"pod a/p0 is being deleted":                              func(_ *want, s *state) { s.pods[0].DeletionTimestamp = &metav1.Time{} },
		"pod a/p0 has no controller":                             func(_ *want, s *state) { s.pods[0].OwnerReferences[0].UID = "gone" },
		"pod a/p0 is on node \"m\", which is not there":          func(_ *want, s *state) { s.pods[0].Spec.NodeName = "m" },
		"pod a/p0 is not ready":                                  func(_ *want, s *state) { s.pods[0].Status.Conditions = nil },
		"ReplicaSet a/web-1 has 1 of 2 pods":                     func(_ *want, s *state) { s.pods = s.pods[1:] },
		"EndpointSlice a/web-x has no Service":                   func(_ *want, s *state) { s.services = nil },
		"Service a/web has no endpoint 10.0.0.p0 of pod p0 (p0)": func(_ *want, s *state) { s.slices[0].Endpoints = s.slices[0].Endpoints[1:] },
		"Service a/web has the endpoint 10.0.0.p0 of pod p0 (old), which is not ready, or has it twice": func(_ *want, s *state) {
			s.slices[0].Endpoints[0].TargetRef.UID = "old"
		},
	} {
		w, s := settled()
		change(w, s)
		assert.Contains(t, s.check(w, []string{"n"}), fault)
	}
}

// TestWorkload checks that the number of pods is as requested, and that the seed determines their
// owners.
func TestWorkload(t *testing.T) {
	for _, pods := range []int{100, 2000, 10000} {
		of := func(seed uint64) *want { return newWant(pods/20, pods, rand.New(rand.NewPCG(seed, 0))) }
		sum := pods / 20
		for _, m := range []map[name]int32{of(1).deployments, of(1).statefulSets, of(1).jobs} {
			for _, n := range m {
				assert.Positive(t, n)
				sum += int(n)
			}
		}
		assert.Equal(t, pods, sum)
		assert.Equal(t, of(1), of(1))
		assert.NotEqual(t, of(1), of(2))
	}
}
