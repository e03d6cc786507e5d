// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// TestAudits: the page of an informer that was audited says what came of that, in each form.
func TestAudits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedIndexInformer(cachetest.New(testkit.Pod("a", "1"), testkit.Pod("b", "1")), &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); informer.RunWithContext(ctx) }()
		defer func() { cancel(); <-ended }()
		synctest.Wait()
		page := Handler(Options{})
		read := func(query string) string { return get(page, query+"&"+idOf(t, informer)).Body.String() }
		assert.NotContains(t, read("refresh=off"), "Audits:")

		lost, _, _ := informer.GetStore().GetByKey("ns/a")
		require.NoError(t, informer.GetStore().Delete(lost))
		at := time.Now().Add(time.Second).Format(time.RFC3339) // the repair comes after that
		_, err := audit.Once(ctx, informer, audit.Options{Repair: audit.Relist})
		require.NoError(t, err)
		assert.Contains(t, read("refresh=off"),
			"<p>Audits: different 1; the last at "+at+": different; objects that differ: 0. Found in all: missing 1. Relists for it: 1.</p>")
		assert.Contains(t, read("format=json"), `"lastOutcome": "different"`)
		assert.Regexp(t, `\nrelists .*\nwatch ends .*\ndrops .*\naudits +different 1\naudits found +missing 1\n`, read("format=text"))
	})
}
