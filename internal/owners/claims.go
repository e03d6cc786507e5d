// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/cache/internal/store"
)

// owners records which of several sources have an object. It belongs to the applier, which applies
// records in the order in which they were queued, so no lock is needed.
//
// Each source has the set of its keys. The versions of an object for its sources are kept only for
// keys that several sources have:
//
//	sources  one.keys {a, b}, two.keys {b}
//	shared   b ─▶ [{one, "5"}, {two, "7"}]
type owners struct {
	applier *store.Applier
	sources map[*Source]struct{}  // the sources with a list in the store
	likely  *Source               // the source that probably has the next key, as lists are ordered by namespace; never nil
	shared  map[string][]claim    // claims by key; no entry if one source has the key, in the version of the store
	touched map[*Session]struct{} // the sessions of the current transaction
	stored  []func()              // called when the handlers have received the batch

	restarts uint64 // how often a list has proved that the versions of its server began again
}

// claim is the version of an object for a source; "" if the versions of its server began again after
// the source's last list. A claim without a source is the version in the store if that is of a source
// that has lost the object, and newer than the versions of the others. So the store does not go back
// while the others catch up.
type claim struct {
	by      *Source
	version string
}

// order returns 1 if version is newer than other, -1 if it is older, and 0 if they are equal. A
// missing version, or one that cannot be compared, counts as newer because it arrived later.
func order(version, other string) int {
	if version == other && version != "" {
		return 0
	}
	if sign, err := resourceversion.CompareResourceVersion(version, other); err == nil {
		return sign
	}
	return 1
}

// later returns the newer version. "" stands for no version.
func later(a, b string) string {
	if a != "" && order(a, b) > 0 {
		return a
	}
	return b
}
