// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDirect checks that pods are decoded directly, in protobuf, and by the client with
// KINFORMER_DIRECT=off.
func TestDirect(t *testing.T) {
	client, namespace := newClient(t), unique("direct")
	for i := range 12 { // more than the eight that the client also decodes
		createPod(t, client, namespace, fmt.Sprintf("p-%d", i), "node-0")
	}
	p := start(t, "direct")
	p.await(`^decoded from protobuf: [1-9]\d* objects directly, and [1-9]\d* both directly and by the client, with 0 differences$`)
	assertShown(t, "../docs/direct.md", p.interrupt()...)

	t.Setenv("KINFORMER_DIRECT", "off")
	off := start(t, "direct")
	off.await("^the client decodes: KINFORMER_DIRECT is off in the environment$")
	off.interrupt()
}

// TestSharing checks that equal pods have fewer lists of containers than there are pods.
func TestSharing(t *testing.T) {
	client, namespace := newClient(t), unique("sharing")
	const equal = 12 // the client also decodes the first eight objects, which share nothing
	for i := range equal {
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/an/image:v1"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	p := start(t, "sharing")
	found := p.await(`^(\d+) pods have (\d+) lists of containers; the table has [1-9]\d* parts in \d+ KiB, of which [1-9]\d* were found again$`)
	pods, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	lists, err := strconv.Atoi(found[2])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, pods, equal)
	assert.Less(t, lists, pods)
	assertShown(t, "../docs/direct.md", p.interrupt()...)
}

// TestAudit checks that an object that was removed from the cache is found and restored, and that a
// handler is notified.
func TestAudit(t *testing.T) {
	said, err := start(t, "audit").end()
	require.NoError(t, err)
	require.Len(t, said, 5)
	assert.Regexp(t, `: 3 objects at version "\d+", by versions: as on the server$`, said[0])
	assert.Equal(t, "took one object out of the cache", said[1])
	assert.Regexp(t, `: 2 objects .*: 1 missing, confirmed 1 missing \(missing default/audit-\w+\); repaired by a relist$`, said[2])
	assert.Equal(t, "a handler was told of it", said[3])
	assert.Regexp(t, `: 3 objects at version "\d+", by versions: as on the server$`, said[4])
	left, err := newClient(t).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: "kinformer-example-audit"})
	require.NoError(t, err)
	assert.Empty(t, left.Items)
	assertShown(t, "../docs/audit.md", said...)
}

// get returns the status code and the body of a response.
func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// TestObservability checks that the program serves the page, the metrics and the probe, and that it
// exits after an interrupt.
func TestObservability(t *testing.T) {
	createPod(t, newClient(t), unique("observability"), "shown", "node-0")
	p := start(t, "observability")
	address := p.await(`^(http://127\.0\.0\.1:\d+)/debug/informers/ is the page`)[1]
	synced := regexp.MustCompile(`(?m)^kinformer_synced\{.*resource="\*v1\.(?:Pod|ConfigMap)".*\} 1$`)
	var metrics string
	for len(synced.FindAllString(metrics, -1)) < 2 {
		require.NoError(t, p.ctx.Err(), "not synced: %s", metrics)
		time.Sleep(50 * time.Millisecond)
		_, metrics = get(t, address+"/metrics")
	}
	assert.Regexp(t, `(?m)^kinformer_objects\{.*resource="\*v1\.Pod".*\} [1-9]`, metrics)
	assert.Contains(t, metrics, "controller_runtime_", "beside those of controller-runtime")

	code, body := get(t, address+"/readyz")
	assert.Equal(t, http.StatusOK, code, body)
	code, body = get(t, address+"/debug/informers/?format=text")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "*v1.Pod")
	assert.Contains(t, body, "*v1.ConfigMap")
	assertShown(t, "../docs/observability.md", p.interrupt()...)
}

// varying matches the parts of a line that differ from run to run.
var varying = regexp.MustCompile(`\d+|audit-\w+`)

// assertShown checks that page contains the output lines of a program, apart from numbers and names.
func assertShown(t *testing.T, page string, lines ...string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var shown []string
	for line := range strings.Lines(string(text)) {
		if line, indented := strings.CutPrefix(line, "    "); indented {
			shown = append(shown, varying.ReplaceAllString(strings.TrimSpace(line), "#"))
		}
	}
	require.NotEmpty(t, lines)
	for _, line := range lines {
		assert.Contains(t, shown, varying.ReplaceAllString(line, "#"), page)
	}
}
