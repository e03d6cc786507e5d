// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// The random tests play one script on client-go's engine and on ours and compare what every call
// returns and shows. What differs on purpose is not drawn, or is played so that the difference
// shows: each place says so, with the row of docs/migration.md.

// pair returns the reference and ours.
func pair(t *testing.T) (reference, ours implementation) {
	t.Helper()
	for _, impl := range implementations {
		if impl.reference {
			reference = impl
		} else {
			ours = impl
		}
	}
	return reference, ours
}

// keyFuncs are what both engines are made with; ours has a shorter way for the first two.
var keyFuncs = map[string]cache.KeyFunc{
	"usual":             cache.MetaNamespaceKeyFunc,
	"usual, deletions":  cache.DeletionHandlingMetaNamespaceKeyFunc,
	"one of the user's": keyOrRefuse,
}

// versions gives each drawn object the next version: what an engine makes of older ones is the
// matter of other tests.
type versions int

func (v *versions) next() string {
	*v++
	return strconv.Itoa(int(*v))
}

// drawPod draws a pod with a name and labels that a script has few of.
func (v *versions) drawPod(t *rapid.T) any {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
	return labelled(name, v.next(), "app", rapid.SampledFrom([]string{"", "x", "y", "x,y", "y,z"}).Draw(t, "app"))
}

// drawAny draws what a queue may be given: mostly pods, and what has a key in another way, or none,
// or is refused by refuse. Deltas in place of an object are drawn where wrapped says so:
// client-go's RealFIFO takes them, and loses their keys then.
func (v *versions) drawAny(t *rapid.T, wrapped bool) any {
	p := v.drawPod(t)
	key, _ := keyOrRefuse(p)
	switch rapid.SampledFrom([]string{"pod", "pod", "pod", "pod", "tombstone", "deltas", "odd"}).Draw(t, "kind") {
	case "tombstone":
		return rapid.SampledFrom([]any{
			cache.DeletedFinalStateUnknown{Key: key, Obj: p}, cache.DeletedFinalStateUnknown{Key: key},
		}).Draw(t, "tombstone")
	case "deltas":
		if !wrapped {
			return cache.Deltas{}
		}
		return rapid.SampledFrom([]any{
			cache.Deltas{{Type: cache.Added, Object: p}}, cache.Deltas{}, cache.Delta{Type: cache.Updated, Object: p},
			cache.Deltas{{Type: cache.Deleted, Object: cache.DeletedFinalStateUnknown{Key: key, Obj: p}}},
		}).Draw(t, "deltas")
	case "odd":
		return rapid.SampledFrom([]any{"junk", cache.ExplicitKey(key), pod("bad", v.next())}).Draw(t, "odd")
	}
	return p
}

// told writes an error so that both engines' can be compared: its kind, what it is about, and its
// root. The words around it are each engine's.
func told(err error) string {
	var keyErr cache.KeyError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &keyErr):
		return fmt.Sprintf("KeyError of %s: %s", label(keyErr.Obj), root(keyErr.Err))
	case strings.HasSuffix(err.Error(), errRefused.Error()): // client-go's Replace does not wrap it
		return errRefused.Error()
	default:
		return err.Error()
	}
}

func root(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
