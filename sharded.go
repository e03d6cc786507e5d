// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/cache/internal/shard"
)

// NewShardedListWatch returns a ListerWatcher for the objects of lw that the selector matches, or lw if
// these are all. It filters the answers of servers that do not support the selector. Informers of this
// module decode no object of another shard if they can avoid it. If the selector is none of ranges of one
// field, as those of apimachinery are, every request fails. See also SetShardSelector of informers.
func NewShardedListWatch(lw ListerWatcher, selector sharding.Selector) ListerWatcher {
	return shard.NewSelected(lw, selector)
}
