// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap/engine"
)

// NewListWatch returns a ListWatch for the objects of a resource in a namespace, or in all namespaces
// if it is "". It does the same as client-go's NewFilteredListWatchFromClient. Like generated clients,
// it also requests protobuf if the type of example supports it and the configuration of the client does
// not specify the encoding. tweak, which may be nil, changes the options of a request, to set
// selectors.
//
// The client must be made from a config that was wrapped with Transport.
func NewListWatch(c clientgo.Getter, example runtime.Object, resource, namespace string, tweak func(*metav1.ListOptions)) *clientgo.ListWatch {
	_, readsProtobuf := example.(interface{ Unmarshal([]byte) error })
	request := func(ctx context.Context, options metav1.ListOptions, watches bool) *rest.Request {
		options.Watch = watches
		if tweak != nil {
			tweak(&options)
		}
		request := c.Get().UseProtobufAsDefaultIfPreferred(readsProtobuf).Namespace(namespace).Resource(resource).
			VersionedParams(&options, metav1.ParameterCodec)
		engine.From(ctx).Ask(request.URL())
		return request
	}
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return request(ctx, options, false).Do(ctx).Get()
	}
	follow := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return request(ctx, options, true).Watch(ctx)
	}
	return &clientgo.ListWatch{
		ListWithContextFunc:  list,
		WatchFuncWithContext: follow,
	}
}
