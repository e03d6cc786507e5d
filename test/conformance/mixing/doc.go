// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mixing tests kinformer's values with client-go's: kinformer's stores, queues and informers
// under client-go's listers, reflectors and controllers and the other way round, and whole packages of
// other modules with only their import of tools/cache changed. These are copied from the module cache
// for the time of the test and not stored here.
package mixing
