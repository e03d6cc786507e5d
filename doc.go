// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps a local copy of the objects of a Kubernetes API server and says what changed. It is a drop-in for
// k8s.io/client-go/tools/cache v0.37 with engines of its own: change the import line and everything compiles, mixed with
// code that still uses client-go's package.
//
//	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{
//		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
//	})
//	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
//		AddFunc: func(obj any) { ... },
//	})
//	go informer.RunWithContext(ctx)
//	if !cache.WaitFor(ctx, "pods", registration.HasSyncedChecker()) {
//		return context.Cause(ctx)
//	}
//	pods, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
//
// # Guarantees
//
//  1. A handler hears of each change once, in the order of the server's watch, one call at a time.
//  2. The store has a change, with all its indices, before any handler hears of it.
//  3. A handler that is added late hears of what is in the store first (isInInitialList is true), then of all that follows,
//     nothing twice and nothing left out.
//  4. A Replace, and each batch of watch events, is seen by readers of the store whole or not at all.
//  5. A slow, stuck or panicking handler delays nobody else, unless it was added with OverflowBlock. What it has still to hear waits
//     in memory, without a bound, unless Deliver sets one. A handler that has heard everything keeps no object in memory and
//     has no goroutine.
//  6. The user's functions (index, key, transform, handler) are never called under a lock that readers of the store take.
//     One that fails or panics is reported to k8s.io/apimachinery/pkg/util/runtime.HandleError (or HandleCrash, for a
//     handler) and leaves everything else as it was. Of the index functions of a store never two run at a time, but for those
//     that readers call by Index. Slow ones hold up stores and handlers, and not the reading of the watch.
//  7. When the context of Run ends, Run returns as soon as the running calls of handlers have. It does not wait for the
//     ListerWatcher: no call of List or Watch begins after Run has returned, but one that has begun may still go on, in a
//     goroutine that ends with the call; what it brings is dropped, and a watch stopped. No other goroutine of the informer
//     is left.
//
// Objects are shared between the store, all handlers and all readers: never change one. KUBE_CACHE_MUTATION_DETECTOR=true
// in the environment has informers look out for that, at a cost.
//
// # When something is wrong
//
// StatusOf says what an informer does and for how long, how its connection is and was, and what its last error was; it prints
// as one line. A server that is out of reach for some seconds is a warning in the log, and so is a handler that has Run wait.
// WaitForSync waits like WaitFor and says why informers have not synced. WaitForVersion waits until the store has
// come to a version, as to that of an own write. An ErrorPolicy (WithErrorPolicy) decides which errors are worth a retry.
//
// # The way of an event
//
//	API server
//	    │  list pages, watch events
//	ListerWatcher ─────── what the user gave: a client, or a fake
//	    │
//	reflector ─────────── reflector*.go: a state machine that lists, streams, watches, backs off
//	    │  its sink (reflector_sink.go): batches of what the watch channel holds, a whole state, staged as it arrives, Resync
//	pipeline ──────────── pipeline.go: the rest of the way, as the reflector sees it; asks queue and handlers for room
//	    │
//	queue ─────────────── record_queue.go, queue_*.go: key and version are read once, the transform runs, changes wait as
//	    │                 records in an order: that of arrival (queue_order.go), or by key (queue_bykey.go)
//	    │  a batch of records, all that is there; or, if nothing waits and nobody is at work, the reflector's own batch,
//	    │  which goes on in its goroutine
//	controller ────────── controller.go: the loop that takes batches; process_error.go: what becomes of errors
//	    │
//	applier ───────────── apply.go: one batch is one transaction; what it replaced makes the notifications
//	    ├──▶ store ────── store.go, thread_safe_store.go, index.go over internal/table: what readers see, without a lock
//	    │
//	sharedProcessor ───── processor.go: writes each notification once, to the log of its feed (feed.go), and wakes consumers
//	    │
//	eventlog.Log ──────── internal/eventlog: small segments, garbage as soon as the last cursor has left them
//	    │
//	consumer ──────────── consumer.go: a cursor in the log, and one line of calls. A handler is a processorListener
//	    │                 (listener.go), with one consumer or, if it asked for parallel calls, several
//	    │
//	worker ────────────── pool.go: the goroutine that calls handlers, one consumer after the other; a call that blocks
//	    │                 keeps no other consumer waiting, because the next worker has started by then
//	    │
//	the user's handler
//
// Slow handlers are the business of delivery.go: coalescer.go merges what waits, room.go holds the watch back, processor.go
// removes handlers, handler_statistics.go says how each of them is doing.
//
// RealFIFO, DeltaFIFO and FIFO are queues for users of New. Names and
// contracts that are client-go's are aliases and live in the clientgo*.go files; nothing else does.
//
// # Names beyond client-go's
//
// All of them are optional. What client-go has is documented where it stands; these are ours alone:
//
//   - Slow handlers: [Deliver], [DeliverTyped], and for all of an informer [WithDelivery], with a [Delivery], whose [Overflow] is [OverflowLossless], [OverflowBlock], [OverflowCoalesce] or
//     [OverflowDisconnect] ([ErrDisconnected]). Registrations are a [MeasuredRegistration], which gives [HandlerStatistics], with [CallTimeBounds]
//     and a [HandlerState]: [HandlerIdle], [HandlerRunning], [HandlerStuck], [HandlerDisconnected], [HandlerRemoved].
//   - Reads of any store: [All], [ByIndexSeq], [Len], [Count], [ListInto]; with a type: [TypedAll], [TypedByIndexSeq], [TypedGet].
//   - Consistent reads of several queries: [SnapshotOf] returns a [Snapshot] ([ErrSnapshotClosed], [ErrForeignStore]);
//     [SnapshotStatsOf] returns [SnapshotStats].
//   - What an informer does: [StatusOf] returns a [Status] with a [Phase], which is [PhaseNew], [PhaseListing],
//     [PhaseStreaming], [PhaseWatching], [PhaseBackingOff] or [PhaseStopped]; [WaitForSync] and [WaitForVersion] wait, with
//     [ErrNotSupported] and [ErrNotComparable].
//   - Options of informers: [InformerFunc] makes a constructor of [Option] values: [WithIdentifier], [WithObjectDescription];
//     for the server [WithExpectedNamespace], [WithListMode] ([ListMode]: [ListModeAuto], [ListModeList],
//     [ListModeWatchList]), [WithPageSize], [WithBackoff], [WithStreamSilence], [WithIdleTimeout], [WithStartJitter],
//     [WithListSlots] ([ListSlots], [NewListSlots]), [WithReuse] ([ReuseMode], [ReuseAuto], [ReuseAlways], [ReuseNever]);
//     for its errors [WithErrorPolicy] with an [ErrorPolicy] that makes an [ErrorDecision], such as [StopOnForbidden] and
//     [WaitForResource], and [WithStopHandler]; for the queue [WithQueueLimit], [WithCoalescedQueue], [WithCachedOnTransformError],
//     [WithProcessErrorHandler] ([ProcessErrorHandler]).
//   - Queues: [RealFIFO.SetLimit], [DeltaFIFO.SetLimit], [DeltaFIFO.SetMaxHistory]; [QueueStatsOf] returns [QueueStats];
//     [RetryProcess] with a [RetryPolicy] and [RetryStats]; [RunReflector] runs the reflector on a store of the user's.
//   - Index functions that fail: the store options [OnIndexFailure] ([IndexFailure]) and [WithIndexPanics]; [IndexFailures]
//     counts.
//
// Package factory has the factories, and package cachetest the test kit.
//
// # Locks
//
// In the order in which they may be taken, each at most once:
//
//  1. sharedIndexInformer.life: the phases of an informer and what may be set before the start
//  2. pipeline.delivery: one batch goes into the store and on to the handlers, or one handler joins
//  3. the lock of internal/table that the writers of a store take, and no reader. The goroutine that reads the watch only
//     tries
//  4. the lock of a store's index functions, held for 32 objects at most. Nothing is taken under it. Who prepares a whole
//     state takes it without the others, and only tries
//  5. feed.mu, which guards the writer's end of the log, the pool, and who is registered, then consumer.mu of any one
//     consumer or resyncSchedule.mu
//
// Of the user's code index functions run under 4, and with it under 2 and 3 where a batch goes into the store, and the hook of
// OnIndexFailure, or apimachinery's handlers, under 2. None runs under 5, and nobody waits for a handler under any of them.
//
// queueCore.mu of a queue is taken before all of them by code that runs inside Pop of a queue without UnlockWhileProcessing,
// which our informers' queue is not, and together with none of them otherwise. keyReader.mu and transformer.mu of a queue,
// processFailures.mu and RetryStats.mu are each the last lock taken; retrier.mu is held while the retried function runs.
// reflectorReport.mu, outageLines.mu, progress.mu and position.mu are held for a few assignments each, and nothing is taken
// under them.
//
// # Testing
//
// Every constructor takes a ListerWatcher: package cachetest has one that is scripted like an API server, and
// k8s.io/client-go/tools/cache/testing a simple one. All waits are on channels, contexts and clocks, so informers work
// inside a testing/synctest bubble.
package cache
