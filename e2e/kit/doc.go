// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit holds package cachetest to a real API server: one history of writes is made on both,
// some 400 requests are asked of both, in all combinations of their options, and the answers are
// compared line by line. It has no code to import.
//
// Versions are compared by the step of the history that made them, continue tokens by what they
// lead to, and errors by code, reason and causes. A watch is read until the last write that it has
// to tell of, so that nothing depends on time. What differs on purpose is in the table different,
// which fails for what differs no longer; package cachetest lists it.
//
//	cd e2e && KINFORMER_APISERVER=../bin/apiserver go test ./kit -v
package kit
