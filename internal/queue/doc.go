// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue implements the queue of one collection's changes, between the goroutine that
// receives them and the goroutine that processes them.
//
//	reflector ──▶ PutBatch ──▶ Order ──▶ Pop ──▶ the consumer's process function
//
// RealFIFO, DeltaFIFO and the queues of informers are built from a [Queue]. Its [Order] determines
// the order in which records leave: [Arrivals] or [ByKey].
//
// A queue has one lock, Queue.Mu. Methods with the suffix Locked require it. No user code runs
// under it, except the process function of a queue whose Unlocked is false, and the user's metrics
// and known objects.
package queue
