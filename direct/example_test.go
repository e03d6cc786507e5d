// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
)

// With one line, the informers of all clients that are made from the config decode directly.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(twoPods))
	defer server.Close()

	config := &rest.Config{Host: server.URL}
	config.Wrap(direct.Transport) // before clients are made
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		fmt.Println(err)
		return
	}

	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.Everything())
	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	cache.WaitFor(ctx, "pods", informer.HasSyncedChecker())

	status, err := inspect.StatusOf(informer)
	fmt.Println(len(informer.GetStore().ListKeys()), "pods", err)
	fmt.Println("on:", status.Decoding.On, status.Decoding.Encoding, status.Decoding.Why)
	cancel()
	<-ended
	// Output:
	// 2 pods <nil>
	// on: true json
}

// twoPods is a server that streams two pods.
func twoPods(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for _, event := range []string{
		`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}}`,
		`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b","resourceVersion":"2"}}}`,
		`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
	} {
		fmt.Fprintln(w, event)
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}
