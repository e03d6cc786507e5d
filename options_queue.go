// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// queueConfig is what a shared informer can be told about the way from its reflector to its store. Its zero value is
// client-go's behaviour.
type queueConfig struct {
	coalesced      bool
	limit          int
	keepCached     bool
	onProcessError ProcessErrorHandler
}

func (c *queueConfig) check(bad *faults) {
	refuseNegative(bad, "WithQueueLimit", c.limit, "no bound")
}

// WithProcessErrorHandler sets what hears of batches that the informer could not bring into its store. Without it they are
// reported to k8s.io/apimachinery/pkg/util/runtime.HandleError. Either way they are counted; see QueueStatsOf.
func WithProcessErrorHandler(handler ProcessErrorHandler) Option {
	return func(c *informerConfig) { c.queue.onProcessError = handler }
}

// WithCachedOnTransformError has a list succeed although the transform function fails for some of its objects: those keep
// their cached version, or stay out if there is none, until a later version passes. Each is reported, and counted in
// QueueStats.Untransformed. Without this option such a list fails as a whole, and is tried again after a backoff.
func WithCachedOnTransformError() Option {
	return func(c *informerConfig) { c.queue.keepCached = true }
}

// WithQueueLimit bounds what waits between the watch and the store at n changes, or objects WithCoalescedQueue: then the
// watch is read no further until some are in the store. See RealFIFO.SetLimit for what that means; QueueStatsOf tells depth
// and pauses. n of 0 is no bound, client-go's behaviour.
func WithQueueLimit(n int) Option {
	return func(c *informerConfig) { c.queue.limit = n }
}

// WithCoalescedQueue has changes of one object that wait together reach the store, and handlers, as one. Nothing waits as
// long as the store keeps up; then it is like the default, where each event is one notification. (For handlers that do not
// keep up there is Deliver: Coalesce does this for one handler, Block holds up the watch before the queue.)
//
// While they do not, handlers hear of one update of an object from the state they know to its newest, so of at least one
// notification for each object that changed and at most one for each event. A deletion is never merged with what came
// before or after it. Objects come in the order in which their first waiting change arrived, all before the next list.
//
// Every batch wakes the consumer up, where the default may bring it to the store at once.
func WithCoalescedQueue() Option {
	return func(c *informerConfig) { c.queue.coalesced = true }
}
