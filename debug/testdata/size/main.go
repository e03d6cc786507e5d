// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command size is a small program with the typed clients and an informer. TestSize compares its
// sizes without and with the page (build tag page).
package main

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
)

var (
	clients kubernetes.Interface
	mux     = http.NewServeMux()
)

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		panic(err)
	}
	clients = kubernetes.NewForConfigOrDie(config)
	pods := cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, nil)
	go cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, nil).Run(nil)
	mux.Handle("/", http.NotFoundHandler())
	_ = http.ListenAndServe("127.0.0.1:0", mux)
}
