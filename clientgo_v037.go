// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Names that client-go has since v0.37. The trees for earlier minors are made without the files named
// _v037.

// MutationCacheOptions are the options of NewIntegerResourceVersionMutationCacheWithOptions; the
// zero value works.
type MutationCacheOptions = clientgo.MutationCacheOptions

// NewIntegerResourceVersionMutationCacheWithOptions is NewIntegerResourceVersionMutationCache with
// options, which include the number of objects.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	return clientgo.NewIntegerResourceVersionMutationCacheWithOptions(logger, backingCache, options)
}
