// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerruntime tests kinformer's informers in the caches and managers of sigs.k8s.io/controller-runtime, against
// the embedded API server. It exports nothing: to use them, one option is enough,
//
//	ctrl.NewManager(config, ctrl.Options{
//		Cache: ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
//	})
//
// with cache being github.com/kinformer/cache, or cache.InformerFunc(...) for informers with options.
//
// BenchmarkCacheSync measures a cache's first sync beside the default informer:
//
//	KINFORMER_APISERVER=bin/apiserver go test -run '^$' -bench . -count 6 ./controllerruntime
package controllerruntime
