// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue has what the changes of one collection wait in, between the goroutine that receives
// them and the one that processes them.
//
//	reflector ──▶ PutBatch ──▶ idle? ── yes ──▶ Direct, in the reflector's goroutine
//	                             │ no
//	                             ▼
//	                           Order ──▶ Pop ──▶ the consumer's process function
//
// A [Queue] is what RealFIFO and DeltaFIFO, and the queues of informers, are made of. An [Order]
// decides in which order records leave: [Arrivals] or [ByKey].
//
// A queue has one lock, Queue.Mu. Methods that end in Locked are called with it held. No function
// of the user's runs under it, except the process function of a queue without Unlocked, and the
// user's metrics and known objects.
package queue
