// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"iter"

	"github.com/kinformer/cache/internal/table"
)

// contents is what a store has: a table of objects, and what goes with every write of it. Public
// stores and the appliers of informers write through it; readers go straight to the table.
type contents struct {
	table *table.Table
	pace  indexPace

	// singleValued is table.Options.SingleValued: it knows the index functions that are not the
	// user's.
	singleValued func(table.IndexFunc) func(obj any) (value string, err error)

	// onVersion is called with the table's resourceVersion after each write. nil: nobody asked.
	onVersion func(version string)
}

// init makes c the contents of an empty store with these index functions.
func (c *contents) init(functions map[string]table.IndexFunc, options table.Options) {
	c.table, c.singleValued = table.New(functions, options), options.SingleValued
	c.changedFunctions(functions)
}

// apply makes the changes in order, seen by readers all at once, and moves the resourceVersion on
// by advance. The table fills in what each change replaced.
func (c *contents) apply(ops []table.Op, advance table.Stamp) {
	c.table.Apply(ops, advance)
	c.publishVersion()
}

// tryApply is apply for a caller who must not wait for other writers: while there is one it does
// nothing and returns false.
func (c *contents) tryApply(ops []table.Op, advance table.Stamp) (done bool) {
	if !c.table.TryApply(ops, advance) {
		return false
	}
	c.publishVersion()
	return true
}

// replace makes the n objects the whole contents, at once for every reader; of those with the same
// key the last one counts.
func (c *contents) replace(objects iter.Seq2[string, any], n int, version string) {
	c.table.Replace(objects, n, version)
	c.publishVersion()
}

// fill is replace by what the function adds, of about n objects. If that returns an error, so does
// fill, and nothing has changed. The function must not write to the store.
func (c *contents) fill(n int, version string, fill func(add func(key string, obj any)) error) error {
	err := c.table.Fill(n, version, fill)
	if err == nil {
		c.publishVersion()
	}
	return err
}

// install makes a draft the whole contents.
func (c *contents) install(draft *table.Draft, version string) {
	c.table.Install(draft, version)
	c.publishVersion()
}

// addIndexers adds indices over what is stored and all that follows: all of them, or none and an
// error that is table.ErrIndexExists.
func (c *contents) addIndexers(functions map[string]table.IndexFunc) (err error) {
	defer func() { // also when what reports a failure panics: the indices are there then
		if err == nil {
			c.changedFunctions(functions)
		}
	}()
	return c.table.AddIndexers(functions)
}

func (c *contents) changedFunctions(functions map[string]table.IndexFunc) {
	for _, f := range functions {
		if c.singleValued == nil || c.singleValued(f) == nil {
			c.pace.reset()
		}
	}
}

func (c *contents) publishVersion() {
	if c.onVersion != nil {
		c.onVersion(c.table.RV())
	}
}
