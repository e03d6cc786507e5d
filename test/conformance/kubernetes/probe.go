// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probe measures the time from now until the controller manager has created the pod of a new ReplicaSet,
// and until the scheduler has bound a new pod. It deletes both.
func (r *run) probe(ctx context.Context, after string) error {
	began, n := time.Now(), name{Namespace: metav1.NamespaceDefault, Name: "probe"}
	pods, sets := r.client.CoreV1().Pods(n.Namespace), r.client.AppsV1().ReplicaSets(n.Namespace)
	one, template := int32(1), r.template(n)
	set := &appsv1.ReplicaSet{ObjectMeta: meta(n), Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: selector(n), Template: template}}
	pod := &corev1.Pod{ObjectMeta: meta(n), Spec: template.Spec}
	err := await(ctx, 20*time.Millisecond, func(ctx context.Context) error { // the server may not be ready yet
		_, err1 := sets.Create(ctx, set, metav1.CreateOptions{})
		_, err2 := pods.Create(ctx, pod, metav1.CreateOptions{})
		return errors.Join(r.check(), unlessExists(err1), unlessExists(err2))
	})
	if err != nil {
		return err
	}
	var made, bound time.Duration
	err = await(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		list, err := pods.List(ctx, metav1.ListOptions{})
		for i := 0; err == nil && i < len(list.Items); i++ {
			owner, isBound := metav1.GetControllerOf(&list.Items[i]), list.Items[i].Spec.NodeName != ""
			if owner != nil && made == 0 {
				made = time.Since(began)
			} else if owner == nil && isBound && bound == 0 {
				bound = time.Since(began)
			}
		}
		if err == nil && (made == 0 || bound == 0) {
			err = fmt.Errorf("ReplicaSet %s has its pod: %t; pod %s is bound: %t", n, made > 0, n, bound > 0)
		}
		return errors.Join(err, r.check())
	})
	r.figures.add("blind time of "+r.manager.name()+", s", after, 1, made.Seconds())
	r.figures.add("blind time of "+r.scheduler.name()+", s", after, 1, bound.Seconds())
	background := metav1.DeletePropagationBackground
	return errors.Join(err, sets.Delete(ctx, n.Name, metav1.DeleteOptions{PropagationPolicy: &background}), pods.Delete(ctx, n.Name, metav1.DeleteOptions{}))
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
