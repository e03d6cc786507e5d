// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry tries again what a process function of the user's could not process. It is for
// controllers of cache.New:
//
//	config.Process = retry.Process(retry.Policy{}, process)
//
//	item ──▶ Process ──▶ the function ── error ──▶ waits ──▶ the function ── ... ──▶ OnGiveUp
//	            │                                    ▲
//	            └── a newer item of the same key ────┘ takes its place
//
// For each item:
//
//  1. What waits under the same key gives way to it, and a list drops all that it supersedes.
//  2. Behind a list that waits, everything waits: at most one item of each key.
//  3. Else the function is called. An item that it refuses waits for its backoff, and is tried
//     Policy.MaxAttempts times in all.
package retry
