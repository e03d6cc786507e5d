// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

// directly returns a ListerWatcher of pods that are decoded directly, whose watches fail.
func directly(t *testing.T, open func() error) *clientgo.ListWatch {
	wire := &taptest.Wire{Media: apiruntime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) {
		list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: make([]v1.Pod, 20)}
		return [][]byte{taptest.Encoded(list, apiruntime.ContentTypeJSON)}, false
	}}
	config := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	config.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	lists := direct.NewListWatch(set.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil)
	lists.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, open() }
	return lists
}

// TestTextsAreGivenBack: a reflector uses the table of texts while it runs, and releases it however
// it ends.
func TestTextsAreGivenBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		open func() error
		run  func(*Reflector) // runs the reflector to its end
	}{
		"context": {
			func() error { cancel(); return ctx.Err() },
			func(r *Reflector) { r.Run(ctx) },
		},
		"round": {
			func() error { return testkit.ErrForbidden },
			func(r *Reflector) { assert.ErrorIs(t, r.ListAndWatch(t.Context()), testkit.ErrForbidden) },
		},
		"panic": {
			func() error { panic("oops") },
			func(r *Reflector) { assert.Panics(t, func() { r.Run(t.Context()) }) },
		},
		"panic in a round": {
			func() error { panic("oops") },
			func(r *Reflector) { assert.Panics(t, func() { _ = r.ListAndWatch(t.Context()) }) },
		},
		"refusal": {
			func() error { return testkit.ErrForbidden },
			func(r *Reflector) {
				r.state.reader.options.Decide = func(context.Context, Undecided) Decision { return Decision{Stop: true} }
				r.Run(t.Context())
			},
		},
	} {
		report, used := NewJournal(), int64(0)
		lists := directly(t, func() error {
			used = report.Status().Decoding.Texts.Bytes
			return c.open()
		})
		c.run(New(Options{ListerWatcher: lists, ExpectedType: &v1.Pod{}, Sink: Foreign(&testkit.StoreLog{}), Mode: ByList, Journal: report}))
		assert.Greater(t, used, int64(0), name)
		assert.Zero(t, report.Status().Decoding.Texts, name)
	}
}
