// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
)

var (
	// ErrNoIndex is returned if no index has the requested name.
	ErrNoIndex = errors.New("index does not exist")
	// ErrIndexExists is returned if an indexer is added under a name in use.
	ErrIndexExists = errors.New("indexer exists already")
	// ErrClosed is returned by reads of a snapshot after its Close.
	ErrClosed = errors.New("snapshot is closed")
)

// Options tune a table. The zero value works.
type Options struct {
	// OnIndexFailures is called with the index failures of a write, if there are any. It is called
	// after the write is published, in the writer's goroutine and without a lock. If it panics, the
	// panic reaches the writer's caller and the table is unharmed. If nil, failures are only
	// counted.
	OnIndexFailures func([]IndexFailure)

	// SingleValued is called once for each index function. It returns an equivalent function that
	// always has exactly one value, or nil if there is none. Writers call that function instead,
	// which need not allocate. SingleValued may be nil.
	SingleValued func(IndexFunc) func(obj any) (value string, err error)
}

// IndexFunc computes the values under which an object is filed in an index. It may be called by
// writers and by readers, never under a lock that a read needs. It may read the table and must not
// write to it. The table does not keep the slice that it returns.
type IndexFunc = func(obj any) ([]string, error)

// IndexFailure reports that an IndexFunc returned an error or panicked. The object is stored
// nevertheless, but not in that index.
type IndexFailure struct {
	Index, Key string
	Object     any
	// Err is the error that the function returned, or a *PanicError.
	Err error
}

// PanicError is the panic of an IndexFunc.
type PanicError struct {
	Value any
	// Stack is the stack of the first panic of the function in a write, otherwise nil.
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
	// Delete removes Key; Object is ignored.
	Delete bool

	// Old and Had are set by the write: the object that the key had just before this change, and
	// whether it had one.
	Old any
	Had bool
}

// Stamp computes the table's next resource version from the current one. It
// runs with writers locked out and must not use the table.
type Stamp = func(current string) (next string)

// noIndex is an ErrNoIndex with client-go's text.
type noIndex string

func (name noIndex) Error() string {
	return fmt.Sprintf("Index with name %s does not exist", string(name))
}

func (noIndex) Is(target error) bool { return target == ErrNoIndex }
