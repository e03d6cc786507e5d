// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the API server of a world: lists, watches and watch-lists over HTTP. It runs as
// a process of its own, so that its CPU time is not that of who measures, and makes faults when it
// is told to. A world of a cluster changes by its plan; one that stands is fed when that is asked.
//
// What is due is done at its time, and sent then. When that is late, by whoever's fault, nothing is
// left out and no time is changed: objects carry the time when their change was due.
package serve
