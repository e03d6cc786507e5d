// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
