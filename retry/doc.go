// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry retries items that the user's process function failed to process. It is for controllers
// of cache.New:
//
//	config.Process = retry.Process(retry.Policy{}, process)
//
//	item ──▶ Process ──▶ the function ── error ──▶ waits ──▶ the function ── ... ──▶ OnGiveUp
//	            │                                    ▲
//	            └── a newer item of the same key ────┘ replaces the waiting one
//
// For each item:
//
//  1. It replaces a waiting item of the same key, and a list drops all waiting items that it supersedes.
//  2. While a list waits, all later items wait behind it: at most one for each key.
//  3. Otherwise the function is called. An item for which it returns an error waits for its backoff. It is
//     tried at most Policy.MaxAttempts times.
package retry
