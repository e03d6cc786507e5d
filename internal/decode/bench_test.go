// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package decode

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// pods are n pods of 9 KB that differ as pods of some deployments do.
func pods(t testing.TB, n int) [][]byte {
	text := string(readFile(t, "testdata/pod.json"))
	list := make([][]byte, n)
	for i := range list {
		pod, set := fmt.Sprintf("%05x", i), fmt.Sprintf("9e%06x", i/50)
		list[i] = []byte(strings.NewReplacer(
			"00032", pod, "9e3817e8", set, "06dc122c", fmt.Sprintf("%08x", i*7919), "100050", fmt.Sprint(100050+i),
			"08:00:50", fmt.Sprintf("08:%02d:%02d", i/60%60, i%60), "catalogue-worker-1", fmt.Sprint("catalogue-worker-", i/50),
			"1a11db81", fmt.Sprintf("%08x", i), "10.126.4.206", fmt.Sprintf("10.126.%d.%d", i/250, i%250),
		).Replace(text))
	}
	return list
}

const benchPods = 1000

// sharing are options with tables of their own.
func sharing() Options {
	return Options{Intern: NewIntern(16 << 20), Share: NewSharing(NewParts(64 << 20))}
}

// store has the last objects, as an informer's store does: the garbage collector has to look at
// them.
var store = make([]any, benchPods)

// put stores a new object in the place of an older one.
func put(object any) {
	stored++
	store[stored%len(store)] = object
}

var stored int

// must is require.NoError without what that costs.
func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func newPod() *corev1.Pod {
	pod := new(corev1.Pod)
	put(pod)
	return pod
}
