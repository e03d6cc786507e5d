// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the API server of a world: lists, in pages or whole, watches, and watch-lists,
// over TLS and HTTP/2. It runs as a process of its own, and makes faults when it is told to.
//
// What is due is done at its time, and sent then. When that is late, by whoever's fault, nothing is
// left out and no time is changed: objects carry the time when their change was due.
package serve
