// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command user is a program with controller-runtime. It serves one pod, and reads the pod from a cache
// with kinformer's informers.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache"
)

const pods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},
	"items":[{"metadata":{"namespace":"ns","name":"a","resourceVersion":"1"}}]}`

func main() {
	server := httptest.NewServer(http.HandlerFunc(serve))
	ctx, cancel := context.WithCancel(context.Background())
	defer server.CloseClientConnections()
	defer cancel()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	c, err := ctrlcache.New(&rest.Config{Host: server.URL}, ctrlcache.Options{Scheme: scheme.Scheme, Mapper: mapper, NewInformer: cache.NewSharedIndexInformer})
	if err != nil {
		log.Fatal(err)
	}
	go c.Start(ctx)
	if !c.WaitForCacheSync(ctx) {
		log.Fatal("the cache has not synced")
	}
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, &pod); err != nil {
		log.Fatal(err)
	}
	informer, err := c.GetInformer(ctx, &pod)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s in an informer of %s\n", client.ObjectKeyFromObject(&pod), reflect.TypeOf(informer).Elem().PkgPath())
}

// serve answers a list, refuses streamed lists, and holds watches.
func serve(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") != "":
		http.Error(w, "no streamed lists", http.StatusUnprocessableEntity)
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, pods)
	}
}
