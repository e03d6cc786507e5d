// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache/examples/internal/example"
)

const checksum = "example.kinformer.io/checksum"

func newClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(stage.server.Config())
	require.NoError(t, err)
	return client
}

// runs makes namespaces unique, so that tests can run again on the same server.
var runs atomic.Int64

func unique(base string) string { return fmt.Sprintf("%s-%d", base, runs.Add(1)) }

func createPod(t *testing.T, client kubernetes.Interface, namespace, name, node string) {
	t.Helper()
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// putConfigMap creates or replaces a ConfigMap with one value, and a label if it is not empty.
func putConfigMap(t *testing.T, client kubernetes.Interface, namespace, name, label, value string) {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": value}}
	if label != "" {
		obj.Labels = map[string]string{checksum: label}
	}
	_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	require.NoError(t, err)
}

func checksumOf(t *testing.T, client kubernetes.Interface, namespace, name string) string {
	t.Helper()
	found, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return found.Annotations[checksum]
}

// testSigning checks that a controller signs ConfigMaps. written matches its line for a checksum.
func testSigning(t *testing.T, client kubernetes.Interface, namespace string, p *process, written string) {
	first := p.await("^" + namespace + "/before: " + written)[1]
	assert.Contains(t, checksumOf(t, client, namespace, "before"), first)
	_, err := client.CoreV1().ConfigMaps(namespace).Patch(t.Context(), "before", types.MergePatchType, []byte(`{"data":{"key":"two"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	second := p.await("^" + namespace + "/before: " + written)[1]
	assert.Contains(t, checksumOf(t, client, namespace, "before"), second)
	assert.NotEqual(t, first, second)

	putConfigMap(t, client, namespace, "other", "", "one")
	putConfigMap(t, client, namespace, "after", "wanted", "one")
	assert.Equal(t, first, p.await("^" + namespace + "/after: " + written)[1], "the data is what before had")
	assert.Empty(t, checksumOf(t, client, namespace, "other"))
}

func leaseHolder(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "kinformer-example-controller", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, lease.Spec.HolderIdentity)
	return *lease.Spec.HolderIdentity
}

func TestController(t *testing.T) {
	client := newClient(t)
	namespace := unique("classic")
	putConfigMap(t, client, namespace, "before", "wanted", "one")
	leader := start(t, "controller")
	leader.await("^leading$")
	held := leaseHolder(t, client)
	standby := start(t, "controller")
	testSigning(t, client, namespace, leader, `checksum (\w+) written: true`)
	leader.interrupt()
	standby.await("^leading$")
	assert.NotEqual(t, held, leaseHolder(t, client))
	putConfigMap(t, client, namespace, "late", "wanted", "three")
	standby.await("^" + namespace + "/late: checksum")
	standby.interrupt()
	if holder := leaseHolder(t, client); holder != "" { // client-go v0.36 gives up if a renewal is under way
		assert.Contains(t, standby.stderr.String(), "Failed to release lease", "the lease is given up")
	}
}

func TestControllerRuntime(t *testing.T) {
	client := newClient(t)
	namespace := unique("runtime")
	putConfigMap(t, client, namespace, "before", "wanted", "one")
	p := start(t, "controllerruntime")
	testSigning(t, client, namespace, p, `checksum (\w+) written, as \d+ others`)
	p.interrupt()
}

// TestDynamic starts the program before the resource is installed.
func TestDynamic(t *testing.T) {
	p := start(t, "dynamic")
	require.NoError(t, stage.server.InstallCRD(t.Context(), example.Widget))
	p.await("^synced: 0 widgets are in the namespace default$")
	client, err := dynamic.NewForConfig(stage.server.Config())
	require.NoError(t, err)
	widgets := client.Resource(example.Widget.Resource()).Namespace("default")
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.kinformer.io/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"size": int64(1), "color": "red"},
	}}
	_, err = widgets.Create(t.Context(), widget, metav1.CreateOptions{})
	require.NoError(t, err)
	p.await(`^default/w: added, in the initial list: false, spec map\[color:red size:1\]$`)
	_, err = widgets.Patch(t.Context(), "w", types.MergePatchType, []byte(`{"spec":{"size":2,"color":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	p.await("^default/w: spec.color is <nil>, was red$")
	p.await("^default/w: spec.size is 2, was 1$")
	require.NoError(t, widgets.Delete(t.Context(), "w", metav1.DeleteOptions{}))
	p.await("^default/w: deleted$")
	p.interrupt()
}

func TestCoalesce(t *testing.T) {
	for work := 200 * time.Millisecond; ; work *= 4 {
		if coalesced := coalescing(t, work); coalesced > 0 {
			return
		}
		t.Logf("no two changes came within %v", work)
	}
}

// coalescing changes a pod repeatedly, and returns the number of changes that were coalesced for a
// handler whose calls take work. The handler must receive all other changes.
func coalescing(t *testing.T, work time.Duration) (coalesced int) {
	const changes = 60
	client := newClient(t)
	namespace := unique("coalesce")
	createPod(t, client, namespace, "p", "node")
	p := start(t, "coalesce", "-work", work.String())
	p.await("^" + namespace + "/p is new")
	version := ""
	for i := range changes {
		changed, err := client.CoreV1().Pods(namespace).Patch(t.Context(), "p", types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"step":"%d"}}}`, i), metav1.PatchOptions{})
		require.NoError(t, err)
		version = changed.ResourceVersion
	}
	p.await("^" + namespace + "/p is changed, version " + version + "$")
	coalesced, err := strconv.Atoi(p.await(`^handler slow is \w+: \d+ delivered, (\d+) coalesced`)[1])
	require.NoError(t, err)
	received := strings.Count(strings.Join(p.interrupt(), "\n"), namespace+"/p is changed")
	assert.Equal(t, changes, received+coalesced)
	return coalesced
}

// TestOnTheEmbeddedServer runs a program without a cluster.
func TestOnTheEmbeddedServer(t *testing.T) {
	p := startAnywhere(t, "dynamic", "-for", "1h")
	p.await("^synced: 6 widgets are in the namespace default$")
	p.await(`^\w+/example-\d+: spec.size is \d+, was \d+$`)
	p.interrupt()
	assert.Contains(t, p.stderr.String(), "kubectl --kubeconfig")
}

func TestComplaints(t *testing.T) {
	for want, args := range map[string][]string{
		"kubeconfig: stat /does/not/exist: no such file":  {"-kubeconfig", "/does/not/exist"},
		`-resource "pods" is not resource.version.group`:  {"-kubeconfig", stage.server.Kubeconfig(), "-resource", "pods"},
		`unexpected argument "pods"`:                      {"pods"},
		"flag provided but not defined: -unknown\nUsage ": {"-unknown"},
	} {
		_, err := startAnywhere(t, "dynamic", args...).end()
		assert.ErrorContains(t, err, want)
	}
}

// TestExamplesAreSmallAndListed checks that each example has fewer than 120 lines, and that README.md
// of this folder has a link to the example.
func TestExamplesAreSmallAndListed(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, folder := range append(programs, "unittest") {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		lines := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			lines += bytes.Count(text, []byte("\n"))
		}
		assert.Less(t, lines, 120, folder)
		assert.True(t, bytes.Contains(readme, []byte("]("+folder+")")), "README.md has no link to %s", folder)
	}
}
