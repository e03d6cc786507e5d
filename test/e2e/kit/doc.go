// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit compares package cachetest with a real API server. It applies one history of writes to
// both, sends some 400 requests to both, in all combinations of their options, and compares the answers
// line by line. The package contains only tests.
//
// Versions are compared by the step of the history that created them, continue tokens by the lists that
// they continue, and errors by code, reason and causes. A watch is read until the last write that it
// should deliver, so that the tests do not depend on time. The table different lists the intended
// differences, and fails for an entry without a difference; package cachetest documents them.
//
//	cd test/e2e && KINFORMER_APISERVER=../../bin/apiserver go test ./kit -v
package kit
