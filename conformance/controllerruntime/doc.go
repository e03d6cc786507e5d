// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerruntime tests kinformer's informers in the caches and managers of
// sigs.k8s.io/controller-runtime, against the embedded API server. It exports nothing: to use them,
// one option is enough,
//
//	ctrl.NewManager(config, ctrl.Options{
//		Cache: ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
//	})
//
// with cache being github.com/kinformer/cache, or kinformer.Constructor(...) for informers with
// options.
//
// Its caches' own tests, and those of its sources, are run as well, copied with their import of
// tools/cache swapped.
//
// The benchmarks measure a cache's first sync, and reads from a cache, beside controller-runtime's
// default informer:
//
//	make apiserver
//	cd conformance/controllerruntime && KINFORMER_APISERVER=$PWD/../../bin/apiserver go test -run '^$' -bench . -count 6
package controllerruntime
