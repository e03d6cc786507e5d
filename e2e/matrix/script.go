// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// population is how many pods are there before, and bulk the size of an annotation of theirs: a
	// page of half of them is more than the 128 KiB from which on servers compress.
	population = 100
	bulk       = 4 << 10

	last = "last" // name of the pod that comes when all else has happened
)

// pod has something of most kinds of fields, and texts that are written in more than one way.
func pod(i int) *corev1.Pod {
	started := metav1.NewTime(time.Unix(1_700_000_000+int64(i), 0))
	grace, yes, user := int64(30), true, int64(i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%03d", i), Namespace: Namespace, Finalizers: nil,
			Labels:      map[string]string{"app": "a", "empty": "", "n": fmt.Sprint(i % 7)},
			Annotations: map[string]string{"bulk": strings.Repeat(fmt.Sprint(i%10), bulk), "odd": "\"\\\n\t <é>&\u2028 \U0001F600 \x00"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: types.UID(fmt.Sprint("uid-", i)), Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%5), TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"zone": "z"},
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user, SupplementalGroups: []int64{1, 2, 3}},
			Containers: []corev1.Container{{
				Name: "main", Image: "image:" + fmt.Sprint(i), Args: []string{"", "a=b"},
				Env: []corev1.EnvVar{{Name: "A", Value: "ü"}, {Name: "EMPTY"}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("1.5Gi")},
				},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("web")}}},
				Ports:         []corev1.ContainerPort{{Name: "web", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
		}},
	}
}

// populate makes what is there before.
func populate(ctx context.Context, pods typed.PodInterface) error {
	for i := range population {
		if _, err := pods.Create(ctx, pod(i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// play has things happen: pods come, change in several ways, go, and come back.
func play(ctx context.Context, pods typed.PodInterface) error {
	steps := []func(i int) error{
		func(i int) error { _, err := pods.Create(ctx, pod(population+i), metav1.CreateOptions{}); return err },
		func(i int) error {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"round":"%d","empty":null}},"spec":{"nodeSelector":null}}`, i)
			_, err := pods.Patch(ctx, pod(i).Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		},
		func(i int) error {
			now, err := pods.Get(ctx, pod(i).Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			now.Status.Message, now.Status.Conditions = "changed", nil
			_, err = pods.UpdateStatus(ctx, now, metav1.UpdateOptions{})
			return err
		},
		func(i int) error { return pods.Delete(ctx, pod(population+i).Name, metav1.DeleteOptions{}) },
		func(i int) error { _, err := pods.Create(ctx, pod(population+i), metav1.CreateOptions{}); return err },
		func(i int) error { return pods.Delete(ctx, pod(20+i).Name, metav1.DeleteOptions{}) },
	}
	for n, step := range steps {
		for i := range 8 {
			if err := step(i); err != nil {
				return fmt.Errorf("step %d of pod %d: %w", n, i, err)
			}
		}
	}
	end := pod(0)
	end.Name = last
	_, err := pods.Create(ctx, end, metav1.CreateOptions{})
	return err
}
