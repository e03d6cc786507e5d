// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ReadFrom returns functions for WithInterceptorFuncs of controller-runtime's fake client: Get and List read
// from reader, such as a cache, and so may return older objects than the last write.
func ReadFrom(reader client.Reader) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return reader.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return reader.List(ctx, list, opts...)
		},
	}
}
