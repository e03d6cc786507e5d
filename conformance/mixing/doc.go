// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mixing tests that values of kinformer and of client-go take each other's places: our
// stores, queues and informers under client-go's listers, reflectors and controllers and the other
// way round, and whole packages of others with nothing changed but their import of tools/cache.
// Those are copied from the module cache for the time of the test; nothing of them is stored here.
package mixing
