// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

// Queue is the queue of our informers, filled and emptied as their reflector and their controller do it.
type Queue interface {
	// Update puts updates of the objects as one batch of a watch.
	Update(objects []any) error
	// Take waits for something in the queue, takes all there is, and returns how many changes that was.
	Take() (changes int, err error)
}

// NewQueue makes a Queue; the root package's initialization sets it.
var NewQueue func() Queue
