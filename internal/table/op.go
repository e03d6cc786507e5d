// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
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

// IndexFunc computes the values under which an object is found in an index.
// It may be called by writers and by readers, never under a lock that a read
// needs. It may read the table and must not write to it. The slice that it
// returns stays its own.
type IndexFunc = func(obj any) ([]string, error)

// IndexFailure tells that an IndexFunc returned an error or panicked. The
// object is stored all the same, outside of that index.
type IndexFailure struct {
	Index, Key string
	Object     any
	// Err is what the function returned, or a *PanicError.
	Err error
}

// PanicError is the panic of an IndexFunc.
type PanicError struct {
	Value any
	// Stack is of the first panic of the function in a write, and else nil.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("index function panicked: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
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

// noIndex is an ErrNoIndex in client-go's words.
type noIndex string

func (name noIndex) Error() string {
	return fmt.Sprintf("Index with name %s does not exist", string(name))
}

func (noIndex) Is(target error) bool { return target == ErrNoIndex }
