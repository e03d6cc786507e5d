// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
)

var (
	// ErrNoIndex says that no index has the name that was asked for.
	ErrNoIndex = errors.New("index does not exist")
	// ErrIndexExists says that an indexer was added under a name in use.
	ErrIndexExists = errors.New("indexer exists already")
	// ErrClosed says that a snapshot was read after its Close.
	ErrClosed = errors.New("snapshot is closed")
)

// Options tune a table. The zero value works.
type Options struct {
	// OnIndexFailures is called for the objects of a write that could not be
	// filed in an index, if there are any, after the write is published and with
	// no lock held, in the writer's goroutine. If it panics, the panic reaches the
	// writer's caller and the table is unharmed. nil: failures are only counted.
	OnIndexFailures func([]IndexFailure)

	// SingleValued is asked once for each index function whether there is
	// another that does the same, always with one value. Writers then call
	// that one: it need not allocate. nil: there is none.
	SingleValued func(IndexFunc) func(obj any) (value string, err error)
}

// Op is one change of a transaction.
type Op struct {
	Key    string
	Object any
	// Delete removes Key; Object is then not looked at.
	Delete bool

	// Old and Had are filled in: what the key held just before this change.
	Old any
	Had bool
}

// Stamp computes the table's next resource version from the current one. It
// runs with writers locked out and must not use the table.
type Stamp = func(current string) (next string)
