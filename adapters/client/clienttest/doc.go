// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clienttest lets the fake client of controller-runtime write to the sources of package
// cachetest, for unit tests of reconcilers over a cache:
//
//	pods := cachetest.Of(pod)
//	sources := map[client.Object]*cachetest.Source{&corev1.Pod{}: pods}
//	c := fake.NewClientBuilder().
//		WithObjectTracker(clienttest.NewTracker(scheme.Scheme, sources)).
//		WithInterceptorFuncs(clienttest.ReadFrom(cache)).
//		Build()
//
// c reads from cache and writes to pods, as the client of a manager reads from a cache and writes to
// the server. The informers of the cache follow pods, so that they receive a write as an event of
// their watch. Without ReadFrom, c reads the sources, as a manager's GetAPIReader does.
// examples/unittest in the repository has such a test.
//
// # Guarantees
//
//  1. Versions are those of the source. A write returns the version with which the event arrives.
//     A write of an object that has another version than the stored one fails with a Conflict, also if
//     the test writes to the source at the same time. A write that changes nothing gets no version.
//  2. The fake client implements subresources, finalizers, patches and generated names. Custom types
//     have a status subresource only by WithStatusSubresource.
//  3. Faults, outages and partitions that a test scripts for a source reach its informers, and the
//     watches of the client, but neither writes nor other reads. To fail these, use interceptor.Funcs.
//  4. Trackers and clients may be used by any number of goroutines. They start none and never sleep, so
//     they work in a testing/synctest bubble.
//
// # Limits
//
//   - Not supported: WithGlobalResourceVersionCounter, which counts versions itself: each update is a
//     Conflict.
//   - An Update of an unstructured object whose type is in the scheme does not write the new version
//     into the object. A Patch does.
//   - Server-side apply replaces lists as a whole, regardless of their keys.
package clienttest
