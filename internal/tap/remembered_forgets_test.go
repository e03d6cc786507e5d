// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// TestWrittenNeverComesBack: a state that is taken over while all is checked has objects in the
// place of which somebody may have written to. Those do not come back later, although somebody has
// them: not if the client has made the new ones, as it does with the first of each watch, and not
// if these came in another form, as items of a list do.
func TestWrittenNeverComesBack(t *testing.T) {
	for _, k := range kinds {
		items := largePods(20, "4")
		behind := append(slices.Clone(items[10:]), items[:10]...) // so that none is first in both
		server := newServer(t, false, []answer{list("5", items...)}, []answer{
			events(false, added(items)...), events(false, added(behind)...), events(false, added(items)...), events(false, added(items)...),
		})
		source := tappedOf(k.make(t, server.config(transport)), k.example, remembers)
		watches := func() []apiruntime.Object { return objectsOf(follow(t, source, firstWatch, 0)) }
		for _, checked := range []func(){func() { watches() }, func() { ask(t, source, firstList) }} {
			before := watches()
			for _, obj := range before {
				written, err := meta.Accessor(obj)
				require.NoError(t, err)
				written.SetGenerateName("against the rule")
			}
			source.Check(true)
			checked()
			source.Check(false)
			for _, obj := range watches() {
				got, err := meta.Accessor(obj)
				require.NoError(t, err)
				assert.Empty(t, got.GetGenerateName(), "%s, %s", k.name, got.GetName())
			}
			runtime.KeepAlive(before)
		}
	}
}
