// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// queueConfig is what a shared informer can be told about the way from its reflector to its store. Its zero value is
// client-go's behaviour.
type queueConfig struct {
	keepCached     bool
	onProcessError ProcessErrorHandler
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
