// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics says what the metrics of informers are, and reads them for package
// kinformerprom, which hands them on. It reads what inspect.Of tells of the informers that run,
// at the moment that it is asked, and costs nothing at other times.
//
// What labels may say is bounded:
//
//   - Each informer has one set of label values, which it keeps as long as it runs. Those of two
//     that are named alike differ in the label ordinal.
//   - Of an informer the first Options.MaxHandlers names of handlers, and the first
//     Options.MaxIndices names of indices, are label values as long as it runs; all others are
//     summed under Other.
//   - A text has at most MaxText bytes and is valid UTF-8.
//   - All other values are words that are written in the sources.
//
// Counters do not go down while an informer runs: what a handler has counted that was removed stays
// in the sum, as far as it was read before.
package metrics
