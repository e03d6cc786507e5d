// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package minor

// Since38 reports whether the tree goes with v0.38 of client-go or a later one.
const Since38 = Of >= "v0.38"
