// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// patience bounds every wait of these tests. It is far longer than any wait takes, even on a busy
// machine.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentRoleEnv); dir != "" {
		playParent(dir)
		return
	}
	os.Exit(m.Run())
}

// again repeats request until it succeeds or ctx ends: the first request after a restart may use a dead
// connection that the client still considers open.
func again(t *testing.T, ctx context.Context, request func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		last = request()
		return last == nil, nil
	})
	require.NoError(t, errors.Join(err, last))
}

func clientFor(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return client
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"app": "test"}},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func createPods(t *testing.T, ctx context.Context, client kubernetes.Interface, n int) {
	t.Helper()
	for i := range n {
		_, err := client.CoreV1().Pods("ns").Create(ctx, newPod(fmt.Sprintf("pod-%03d", i)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
}
