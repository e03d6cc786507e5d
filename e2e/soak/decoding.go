// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/transport"
)

// tapped decides whether an informer decodes directly.
func (c Config) tapped(random *rand.Rand) bool {
	return c.Library == Kinformer && random.IntN(100) < c.Tapped
}

// route is how informers reach the server. A liar is below direct.Transport, so that both decoders
// are told the same.
func (c *cluster) route(tapped bool, l *liar) *rest.Config {
	config := c.throughProxy()
	if l != nil {
		config.Wrap(l.wrap)
	}
	if tapped {
		transport.Direct(config)
	}
	return config
}

// decoding returns what makes the informer of f. One that decodes directly asks for pages itself: a
// list of which its source has changed the limit is none that it has asked for.
func (f *follower) decoding(library newInformer, random *rand.Rand) newInformer {
	if !f.tapped {
		return library
	}
	f.source.PageSize = 0
	var options []cache.Option
	if random.IntN(2) == 0 {
		options = append(options, cache.WithPageSize(pageSize))
	}
	if f.shares {
		options = append(options, cache.WithDecoding(cache.Decoding{Share: cache.ShareEqual}))
	}
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		return cache.InformerFunc(options...)(lw, example, resync, indexers)
	}
}

// checkDecoding is for a follower that has synced.
func (f *follower) checkDecoding() {
	if status, err := cache.StatusOf(f.informer); err == nil && f.tapped {
		d := status.Decoding
		if !d.On || d.Differences > 0 || d.Shares != f.shares {
			f.report.violation("decoding", f.name, "on: %v, why not: %q, differences: %d, shares: %v", d.On, d.Why, d.Differences, d.Shares)
		}
		if limit := d.Parts.Limit; d.Parts.Bytes > limit {
			f.report.violation("decoding", f.name, "%d bytes of parts, of %d", d.Parts.Bytes, limit)
		}
	}
}

func (f *follower) countDecoded() {
	if status, err := cache.StatusOf(f.informer); err == nil && f.tapped {
		f.report.count("decoded directly", status.Decoding.Direct)
		f.report.count("decoded by both", status.Decoding.Verified)
		for why, n := range status.Decoding.GivenUp {
			f.report.count("not decoded directly: "+why, n)
		}
	}
}

// parts is the table of the process as one of the followers that share sees it, in words.
func (r *run) parts() string {
	for _, f := range r.followers {
		if status, err := cache.StatusOf(f.informer); err == nil && f.shares {
			p := status.Decoding.Parts
			return fmt.Sprintf("%d parts shared in %.1f MiB, found %d times of %d", p.Count, mib(uint64(p.Bytes)), p.Hits, p.Hits+p.Misses)
		}
	}
	return "no parts shared"
}
