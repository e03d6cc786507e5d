// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/kinformer/cache/internal/table"
)

// Contents is the content of a store: a table of objects, and the work that belongs to each write.
// Public stores and the appliers of informers write through it; readers access the table directly.
type Contents struct {
	Table *table.Table
	slow  atomic.Bool // index functions may be slow, because they are the user's

	// singleValued is table.Options.SingleValued. It recognizes the index functions that are not
	// the user's.
	singleValued func(table.IndexFunc) func(obj any) (value string, err error)

	// OnVersion is called with the table's resourceVersion after each write, by one goroutine at a time: the
	// last call has the newest. It may be nil.
	OnVersion  func(version string)
	publishing sync.Mutex
}

// Init initializes c as the content of an empty store with these index functions.
func (c *Contents) Init(functions map[string]table.IndexFunc, options table.Options) {
	c.Table, c.singleValued = table.New(functions, options), options.SingleValued
	c.changedFunctions(functions)
}

// Apply makes the changes in order, as one state for readers, and sets the resourceVersion that
// advance returns. The table sets the replaced object in each change.
func (c *Contents) Apply(ops []table.Op, advance table.Stamp) {
	c.Table.Apply(ops, advance)
	c.publishVersion()
}

// Put is Apply for one object. The table does not keep key.
func (c *Contents) Put(key []byte, obj any, advance table.Stamp) {
	c.Table.Put(key, obj, advance)
	c.publishVersion()
}

// Remove is Apply for one deletion. The table does not keep key.
func (c *Contents) Remove(key []byte, advance table.Stamp) {
	c.Table.Remove(key, advance)
	c.publishVersion()
}

// Replace makes the n objects the whole content, as one state for readers. Of several objects with
// one key the last one is stored.
func (c *Contents) Replace(objects iter.Seq2[string, any], n int, version string) {
	c.Table.Replace(objects, n, version)
	c.publishVersion()
}

// Fill is Replace with the objects that fill adds, about n. If fill returns an error, Fill returns
// it and nothing has changed. fill must not write to the store.
func (c *Contents) Fill(n int, version string, fill func(add func(key string, obj any)) error) error {
	err := c.Table.Fill(n, version, fill)
	if err == nil {
		c.publishVersion()
	}
	return err
}

// install makes a draft the whole content.
func (c *Contents) install(draft *table.Draft, version string) {
	c.Table.Install(draft, version)
	c.publishVersion()
}

// AddIndexers adds indexes over all objects. It adds either all of them, or none and returns an
// error that is table.ErrIndexExists.
func (c *Contents) AddIndexers(functions map[string]table.IndexFunc) (err error) {
	defer func() { // also if the failure hook panics: the indexes exist then
		if err == nil {
			c.changedFunctions(functions)
		}
	}()
	return c.Table.AddIndexers(functions)
}

func (c *Contents) changedFunctions(functions map[string]table.IndexFunc) {
	for _, f := range functions {
		if c.singleValued == nil || c.singleValued(f) == nil {
			c.slow.Store(true)
		}
	}
}

// publishVersion is called after each write.
func (c *Contents) publishVersion() {
	if c.OnVersion != nil {
		c.publishing.Lock()
		defer c.publishing.Unlock()
		c.OnVersion(c.Table.RV())
	}
}
