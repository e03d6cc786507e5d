// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Whole is a handler that is told all of a change, by Tell in place of its other methods.
type Whole struct {
	clientgo.ResourceEventHandler
	Tell func(c *event.Change)
}

// TellOf returns how a handler is told all of a change, nil if it is told by its three methods. Package
// kinformer, which says what such a handler is, sets it before main.
var TellOf = func(clientgo.ResourceEventHandler) func(*event.Change) { return nil }

// AsWhole returns a handler as Whole, if it is told all.
func AsWhole(handler clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
	if tell := TellOf(handler); tell != nil {
		return Whole{handler, tell}
	}
	return handler
}

func isWhole(handler clientgo.ResourceEventHandler) bool {
	_, is := handler.(Whole)
	return is
}
