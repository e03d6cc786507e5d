// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

// TestHost: the ledger has the host of the last request, of a list or a watch, also if there was no
// answer.
func TestHost(t *testing.T) {
	sent := func(ctx context.Context, url string) error {
		tap.From(ctx).Begin(httptest.NewRequest("GET", url, nil))
		return testkit.ErrRefused
	}
	var ledger tap.Ledger
	source := tap.New(&clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return nil, sent(ctx, "https://a:6443/api/v1/pods")
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return nil, sent(ctx, "https://b:6443/api/v1/pods")
		},
	}, &v1.Pod{}, tap.Options{Ledger: &ledger})
	assert.Empty(t, ledger.Host())
	_, err := source.ListWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "a:6443", ledger.Host())
	_, err = source.WatchWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, testkit.ErrRefused)
	assert.Equal(t, "b:6443", ledger.Host())
}
