// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformer makes informers with more than client-go's options, and waits for them:
//
//	pods := kinformer.New(lw, &corev1.Pod{}, kinformer.Options{
//		Requests: kinformer.Requests{IdleTimeout: 10 * time.Minute},
//		Decoding: kinformer.Decoding{ShareParts: true},
//		Errors:   kinformer.Errors{Policy: kinformer.StopOnForbidden},
//	})
//	pods.AddEventHandler(kinformer.Deliver(handler, kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}))
//
//	err := kinformer.WaitForSync(ctx, pods, nodes, registration) // or why one has not synced
//	err = kinformer.WaitForVersion(ctx, pods, written.ResourceVersion)
//	err = kinformer.Relist(pods)
//
// Constructor is New for frameworks: its result can be controller-runtime's NewInformer. For factories,
// see package factory. The informers are those of package cache, and the zero Options are client-go's
// behavior.
//
// Related packages read stores (view), describe informers (inspect) and compare them with their server
// (audit).
package kinformer
