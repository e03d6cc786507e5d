// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

func TestKillAndRestartKeepWhatWasAcknowledged(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	client := clientFor(t, srv.ProtobufConfig())
	createPods(t, ctx, client, 20)
	last, err := client.CoreV1().Pods("ns").Get(ctx, "pod-019", metav1.GetOptions{})
	require.NoError(t, err)
	url := srv.URL()

	require.NoError(t, srv.Kill())
	require.NoError(t, srv.Restart(ctx))
	assert.Equal(t, url, srv.URL())

	var list *corev1.PodList
	again(t, ctx, func() (err error) { // with the client created before the kill
		list, err = client.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
		return err
	})
	require.Len(t, list.Items, 20)
	assert.Equal(t, last.ResourceVersion, list.Items[19].ResourceVersion)
	w, err := client.CoreV1().Pods("ns").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer w.Stop()
	created, err := client.CoreV1().Pods("ns").Create(ctx, newPod("after"), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, created, (<-w.ResultChan()).Object)

	cfg, err := clientcmd.BuildConfigFromFlags("", srv.Kubeconfig())
	require.NoError(t, err)
	_, err = clientFor(t, cfg).CoreV1().Pods("ns").Get(ctx, "after", metav1.GetOptions{})
	assert.NoError(t, err)
}

func TestStopClosesOpenWatches(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	pods := clientFor(t, srv.Config()).CoreV1().Pods("")
	for range 10 {
		w, err := pods.Watch(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		defer w.Stop()
	}
	// The generic API server would wait a minute for the watches to end.
	soon, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	require.NoError(t, srv.Stop(soon))
	assert.NoDirExists(t, srv.DataDir())
	assert.NoError(t, srv.Stop(ctx), "a second stop")
	assert.ErrorIs(t, srv.Restart(ctx), apiserver.ErrStopped)
	assert.ErrorIs(t, srv.Kill(), apiserver.ErrStopped)
	_, err := srv.Compact(ctx)
	assert.ErrorIs(t, err, apiserver.ErrStopped)
}

func TestStopByForceWhenTheContextEnds(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{DataDir: t.TempDir()})
	over, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, srv.Stop(over), context.Canceled)
}

func TestPauseAndResume(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	pods := clientFor(t, srv.Config()).CoreV1().Pods("")
	require.NoError(t, srv.Pause())
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err := pods.List(short, metav1.ListOptions{})
	require.Error(t, err)
	require.NoError(t, srv.Resume())
	_, err = pods.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.NoError(t, srv.Pause())
	require.NoError(t, srv.Stop(ctx), "stop of a paused child")
}

func TestStartFailures(t *testing.T) {
	ctx := t.Context()
	_, err := apiserver.StartChild(ctx, apiserver.Options{Port: -1})
	assert.ErrorContains(t, err, "port -1")
	_, err = apiserver.StartChild(ctx, apiserver.Options{Binary: filepath.Join(t.TempDir(), "missing")})
	assert.ErrorIs(t, err, os.ErrNotExist)

	_, srv := follow.StartServer(t, apiserver.Options{})
	_, err = apiserver.StartChild(ctx, apiserver.Options{Port: srv.Endpoint().Port})
	assert.ErrorContains(t, err, "address already in use")
}

// parentRoleEnv makes the test binary act as a parent that is killed. Its value is the data folder of
// the child that the parent starts.
const parentRoleEnv = "KINFORMER_TEST_PARENT"

// playParent starts a child, prints its endpoint, and blocks until it is killed.
func playParent(dir string) {
	srv, err := apiserver.StartChild(context.Background(), apiserver.Options{DataDir: dir})
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(srv.Endpoint()); err != nil {
		panic(err)
	}
	select {}
}

func TestChildEndsWithItsParent(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	dir, err := os.MkdirTemp("", "kinformer-parent-")
	require.NoError(t, err)
	t.Cleanup(func() { again(t, ctx, func() error { return os.RemoveAll(dir) }) }) // the child may still be closing its files
	parent := exec.CommandContext(ctx, exe)
	parent.Env = append(os.Environ(), parentRoleEnv+"="+dir)
	var stderr bytes.Buffer
	parent.Stderr = &stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var ep apiserver.Endpoint
	require.NoError(t, json.NewDecoder(out).Decode(&ep), "%s", &stderr)

	// Until patience is over, only the end of the child ends this watch.
	client := clientFor(t, &rest.Config{Host: ep.URL, BearerToken: ep.Token, TLSClientConfig: rest.TLSClientConfig{CAData: ep.CA}})
	w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr.To(int64(10 * patience / time.Second))})
	require.NoError(t, err)
	defer w.Stop()
	require.NoError(t, parent.Process.Kill())
	assert.Error(t, parent.Wait(), "killed")
	for range w.ResultChan() {
	}
	assert.NoError(t, ctx.Err(), "the child is still there")
}
