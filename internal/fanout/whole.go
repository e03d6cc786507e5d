// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Whole is a handler that receives all of a change, by OnChange instead of its other methods.
type Whole struct {
	clientgo.ResourceEventHandler
	OnChange func(c *event.Change)
}

// ChangeFuncOf returns the function that receives all of a change, or nil for a handler that is called by
// its three methods. Package kinformer, which defines such handlers, sets it before main.
var ChangeFuncOf = func(clientgo.ResourceEventHandler) func(*event.Change) { return nil }

// AsWhole returns a handler as Whole if it receives all of a change.
func AsWhole(handler clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
	if onChange := ChangeFuncOf(handler); onChange != nil {
		return Whole{handler, onChange}
	}
	return handler
}

func isWhole(handler clientgo.ResourceEventHandler) bool {
	_, is := handler.(Whole)
	return is
}
