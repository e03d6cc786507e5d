// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"sync/atomic"

	"github.com/kinformer/cache/internal/table"
)

// Contents is what a store has: a table of objects, and what goes with every write of it. Public
// stores and the appliers of informers write through it; readers go straight to the table.
type Contents struct {
	Table *table.Table
	pace  atomic.Pointer[indexPace] // of the user's index functions; nil: there is none

	// singleValued is table.Options.SingleValued: it knows the index functions that are not the
	// user's.
	singleValued func(table.IndexFunc) func(obj any) (value string, err error)

	// OnVersion is called with the table's resourceVersion after each write; nil: it is not.
	OnVersion func(version string)
}

// Init makes c the contents of an empty store with these index functions.
func (c *Contents) Init(functions map[string]table.IndexFunc, options table.Options) {
	c.Table, c.singleValued = table.New(functions, options), options.SingleValued
	c.changedFunctions(functions)
}

// Apply makes the changes in order, seen by readers all at once, and moves the resourceVersion on
// by advance. The table fills in what each change replaced.
func (c *Contents) Apply(ops []table.Op, advance table.Stamp) {
	c.Table.Apply(ops, advance)
	c.publishVersion()
}

// Put is Apply of one object. The bytes of the key stay the caller's.
func (c *Contents) Put(key []byte, obj any, advance table.Stamp) {
	c.Table.Put(key, obj, advance)
	c.publishVersion()
}

// Remove is Apply of one deletion. The bytes of the key stay the caller's.
func (c *Contents) Remove(key []byte, advance table.Stamp) {
	c.Table.Remove(key, advance)
	c.publishVersion()
}

// Replace makes the n objects the whole contents, at once for every reader; of those with the same
// key the last one counts.
func (c *Contents) Replace(objects iter.Seq2[string, any], n int, version string) {
	c.Table.Replace(objects, n, version)
	c.publishVersion()
}

// Fill is replace by what the function adds, of about n objects. If that returns an error, so does
// fill, and nothing has changed. The function must not write to the store.
func (c *Contents) Fill(n int, version string, fill func(add func(key string, obj any)) error) error {
	err := c.Table.Fill(n, version, fill)
	if err == nil {
		c.publishVersion()
	}
	return err
}

// install makes a draft the whole contents.
func (c *Contents) install(draft *table.Draft, version string) {
	c.Table.Install(draft, version)
	c.publishVersion()
}

// AddIndexers adds indices over what is stored and all that follows: all of them, or none and an
// error that is table.ErrIndexExists.
func (c *Contents) AddIndexers(functions map[string]table.IndexFunc) (err error) {
	defer func() { // also when what reports a failure panics: the indices are there then
		if err == nil {
			c.changedFunctions(functions)
		}
	}()
	return c.Table.AddIndexers(functions)
}

func (c *Contents) changedFunctions(functions map[string]table.IndexFunc) {
	for _, f := range functions {
		if c.singleValued == nil || c.singleValued(f) == nil {
			c.pace.Store(&indexPace{})
		}
	}
}

// AllowsReader reports whether the goroutine that reads from the server may store so many objects:
// the index functions are quick, or not the user's.
func (c *Contents) AllowsReader(objects int) bool {
	pace := c.pace.Load()
	return pace == nil || pace.allows(objects)
}

// publishVersion is called after each write.
func (c *Contents) publishVersion() {
	if c.OnVersion != nil {
		c.OnVersion(c.Table.RV())
	}
}
