// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the metrics of informers and reads them for module adapters/prom, which
// exports them. A read uses inspect.Of for each running informer; between reads the package does
// nothing.
//
// Label values are bounded:
//
//   - Each informer has one set of label values, which it keeps while it runs. Informers with the same
//     name differ in the label ordinal.
//   - The first Options.MaxHandlers names of an informer's handlers, and the first Options.MaxIndices
//     names of its indices, are label values while it runs. All others are summed under Other.
//   - A text has at most MaxText bytes and is valid UTF-8.
//   - All other values are words from the source code.
//
// Counters do not decrease while an informer runs: the counts of a removed handler, as last read,
// remain in the sum.
package metrics
