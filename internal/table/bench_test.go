// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// benchPods is the size at which the figures are compared.
const benchPods = 100_000

func podIndexers(n int) map[string]IndexFunc {
	all := []struct {
		name string
		fn   IndexFunc
	}{
		{"namespace", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Namespace}, nil }},
		{"node", func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }},
		{"owner", func(obj any) ([]string, error) {
			return []string{string(obj.(*corev1.Pod).OwnerReferences[0].UID)}, nil
		}},
	}
	m := make(map[string]IndexFunc)
	for _, x := range all[:n] {
		m[x.name] = x.fn
	}
	return m
}

func benchPod(i int) *corev1.Pod {
	owner := i / 10
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("team-%03d", owner%100),
			Name:            fmt.Sprintf("service-%05d-6b7c9d5f4-%05x", owner, i),
			UID:             types.UID(fmt.Sprintf("%08x-aaaa-bbbb-cccc-0123456789ab", i)),
			ResourceVersion: strconv.Itoa(i),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprintf("%08x-dddd-bbbb-cccc-0123456789ab", owner))}},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", rand.IntN(benchPods/30))},
	}
}

type population struct {
	pods map[string]any
	keys []string
}

func populate(n int) population {
	p := population{pods: make(map[string]any, n)}
	for i := range n {
		pod := benchPod(i)
		key := pod.Namespace + "/" + pod.Name
		p.pods[key] = pod
		p.keys = append(p.keys, key)
	}
	rand.Shuffle(len(p.keys), func(i, j int) { p.keys[i], p.keys[j] = p.keys[j], p.keys[i] })
	return p
}
