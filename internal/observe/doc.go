// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe has what an operator's view of a process needs and no engine does: which
// informers run, and how much memory objects take.
//
// What it promises:
//
//  1. Nothing is done for an event. Who runs is entered once for each Run; sizes are found out when
//     somebody asks, for a sample, and no faster than a budget of the process allows.
//  2. Nothing of what has ended is kept: not by a registry, nor of the objects that were sampled.
//  3. Sizes are estimates, and never wait for a writer of the objects.
package observe
