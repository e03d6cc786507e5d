// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerruntime tests kinformer's informers in the caches and managers of
// sigs.k8s.io/controller-runtime, against the embedded API server. It contains only tests. One option is
// enough to use the informers,
//
//	ctrl.NewManager(config, ctrl.Options{
//		Cache: ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
//	})
//
// where cache is github.com/kinformer/cache, or kinformer.Constructor(...) for informers with options.
//
// The package also runs controller-runtime's own tests of caches and sources, copied with their import
// of tools/cache replaced.
package controllerruntime
