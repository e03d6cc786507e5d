// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformer has what informers of package cache can do beyond client-go's:
//
//	err := kinformer.WaitForSync(ctx, pods, nodes, registration) // or why one has not synced
//	err = kinformer.WaitForVersion(ctx, pods, written.ResourceVersion)
//	err = kinformer.Relist(pods)
//
// Packages beside it read stores (view), describe informers (inspect) and compare them with their
// server (audit).
package kinformer
