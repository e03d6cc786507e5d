// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
)

// Options configure the decoding of an informer. The zero value is valid.
type Options struct {
	Off    bool  // client-go decodes everything
	Ahead  int64 // bytes of a list that may wait to be decoded; 0: 32 MiB; -1: none
	Verify int64 // both decode one object in Verify; 0: 4096
	// Start is the position at which the sample of objects that both decode starts; 0: a random
	// one.
	Start uint64
	// Share means that objects share equal parts. Unshared is the reason why they do not, although
	// it was requested.
	Share    bool
	Unshared string
	// Remember means that, if Share is set, former objects may be returned again: no caller
	// modifies objects.
	Remember bool
	// SkipUndecodable means that an *event.Undecodable takes the place of an object that the client
	// cannot decode either, if its name and version can be read. Else its list or watch fails.
	SkipUndecodable bool
	// Keep is what is kept of received objects, or nil for all, and Drop the metadata to remove from what is left. See Trim.
	Keep Keeper
	Drop *Drop
	// Stored returns the object of a name in the store, so that no partial one is written; nil: they may be.
	Stored func(namespace, name string) (obj any, exists bool)
	// Part is the shard that is requested; nil: all objects. Objects of other shards are dropped if
	// that saves their decoding.
	Part *shard.Range
	// Engine makes the engine; nil: the installed one does.
	Engine Maker
	// Ledger receives counts and states; nil: a new one.
	Ledger *Ledger
}

// Engine lists and watches for one informer, and decodes what it can. A list may be a *Page, and a
// *Doubt may be the error, or the object of the last event of a watch.
type Engine interface {
	clientgo.ListerWatcherWithContext
	// Begin marks the informer as running, until end is called.
	Begin() (end func())
	// Check makes all shared parts be checked before they are used, until it is called with false.
	Check(parts bool)
}

// Maker returns a new engine for a ListerWatcher of objects of the type of example, which may be
// nil. The Ledger of its options is not nil.
type Maker func(lists clientgo.ListerWatcherWithContext, example any, o Options) Engine

// DropOf sets Drop to the given paths, and returns the paths that are not supported.
func (o *Options) DropOf(paths []string) (refused []string) {
	o.Drop, refused = DropOf(paths)
	return refused
}

// Trim removes the fields that are not kept, and then dropped metadata, from a received object, whoever decoded it.
// pruned means that only Drop is left to do. An *event.Undecodable, which has some metadata only, is not pruned. Trim modifies
// the topmost struct or map only.
func (o *Options) Trim(obj runtime.Object, pruned bool) {
	if o == nil {
		return
	}
	if _, undecodable := obj.(*event.Undecodable); o.Keep != nil && !pruned && !undecodable {
		o.Keep.Prune(obj)
	}
	o.Drop.Trim(obj)
}

// IsPruned reports whether the objects of a list or a watch have only what Options.Keep keeps: whether it is from an
// engine.
func IsPruned(from any) bool {
	_, is := from.(interface{ pruned() })
	return is
}

// Pruned is embedded in lists and watches of an engine, all objects of which have only what Options.Keep keeps.
type Pruned struct{}

func (Pruned) pruned() {}

// TurnedOff returns the reason why the user wants the client to decode everything, or "".
func (o *Options) TurnedOff() string {
	switch {
	case o.Off:
		return "Decoding.Off says so"
	case isKilled():
		return KillSwitch + " is off in the environment"
	}
	return ""
}
