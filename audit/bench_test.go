// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/kinformer"
)

const benchmarked = 100_000

// BenchmarkState measures how long the events of an informer of 100,000 objects wait for an audit,
// and the time of a digest, without a transform and with one for which the informer keeps the
// server's identities.
func BenchmarkState(b *testing.B) {
	objects := make([]runtime.Object, benchmarked)
	for i := range objects {
		objects[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("namespace-%03d", i%500), Name: fmt.Sprintf("deployment-5d4f8c7b9-%06d", i),
			UID: types.UID(fmt.Sprintf("5b5a2f60-51a5-4b1a-9a53-%012d", i)),
		}}
	}
	src := cachetest.New(cachetest.Options{Objects: objects, Share: true, NewList: func() runtime.Object { return &corev1.PodList{} }})
	forgets := func(obj any) (any, error) {
		pod := *obj.(*corev1.Pod)
		pod.ResourceVersion, pod.UID = "", ""
		return &pod, nil
	}
	for name, transform := range map[string]cache.TransformFunc{"plain": nil, "identities kept": forgets} {
		informer := kinformer.New(src, &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		require.NoError(b, informer.SetTransform(transform))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); informer.RunWithContext(ctx) }()
		require.NoError(b, kinformer.WaitForSync(ctx, informer))
		known := door.Of(informer)
		b.Run("pause of events, "+name, func(b *testing.B) {
			for b.Loop() {
				state, err := tryState(known)
				require.NoError(b, err)
				state.Close()
			}
		})
		b.Run("audit without a server, "+name, func(b *testing.B) {
			for b.Loop() {
				report, err := Once(ctx, informer, Options{})
				require.NoError(b, err)
				require.Empty(b, report.Found)
			}
		})
		cancel()
		<-ended
	}
}
