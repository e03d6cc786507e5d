// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"sync/atomic"
	"time"

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
func (c *Contents) AllowsReader(objects int) bool { return c.pace.Load().allows(objects) }

// publishVersion is called after each write.
func (c *Contents) publishVersion() {
	if c.OnVersion != nil {
		c.OnVersion(c.Table.RV())
	}
}

// indexPace knows whether the user's index functions of a store are so quick that an informer may
// run them in the goroutine that reads from the server. It goes by the last ones that ran:
//
//	unknown ──▶ quick ◀──▶ slow
//
// Unless they are quick, what the watch sends goes through the queue. If the first objects of an
// initial state show that they are slow, the queue's consumer files the others. So reading goes on
// whatever the functions do, but for the calls that show that they are slow, 32 at most.
//
// A store that gets another function of the user's gets another indexPace.
type indexPace struct {
	state atomic.Uint32
}

const (
	paceUnknown uint32 = iota // none of the functions has run yet
	paceQuick
	paceSlow
)

const (
	// slowIndexing is what storing and filing an object may take on average, all index functions
	// together, until that is slow. With usual functions it takes one to two microseconds; decoding
	// an object from the server takes 10 to 100.
	slowIndexing = 20 * time.Microsecond

	// pauseOfOthers is what a few blocks of an initial state may take longer because other
	// goroutines have the processors.
	pauseOfOthers = 2 * time.Millisecond
)

// allows is Contents.AllowsReader; nil: no function is the user's.
func (p *indexPace) allows(objects int) bool {
	return p == nil || p.is(paceQuick) && objects <= table.BlockLen
}

func (p *indexPace) is(state uint32) bool { return p.state.Load() == state }

// note notes that the functions have run for so many objects, and how long that took. That much
// more is not held against them.
func (p *indexPace) note(objects int, took, more time.Duration) {
	if objects == 0 {
		return
	}
	state := paceQuick
	if took > time.Duration(objects)*slowIndexing+more {
		state = paceSlow
	}
	if !p.is(state) {
		p.state.Store(state)
	}
}
