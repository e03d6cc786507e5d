// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

// Secret is what no text may have.
const Secret = "hunter2"
