// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retry tries again what a process function of the user's could not process.
//
//		item ──▶ Process ──▶ the function ── error ──▶ waits for its backoff ──▶ the function ── ... ──▶ GiveUp
//		            │                                        ▲
//		            └── something newer of the same key ─────┘ takes its place
//
//	 1. What waits for the same key gives way to the new item, and a list to all that it makes out of date.
//	 2. Behind a list that waits, everything waits: at most one item a key.
//	 3. Else the function is called. An item that it refuses waits for its backoff, Attempts times in all.
package retry
