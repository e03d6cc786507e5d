// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypedReadsOfStructsDoNotCompile: stores hold pointers to the types of the API, so that a read
// whose asterisk was forgotten finds nothing.
func TestTypedReadsOfStructsDoNotCompile(t *testing.T) {
	const core, meta, unstructured = "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	surfaces := loadSurfaces(t, ourModule, core, meta, unstructured)
	named := func(pkg, name string) types.Type { return surfaces[pkg].pkg.Scope().Lookup(name).Type() }
	for _, name := range []string{"TypedAll", "TypedByIndexSeq", "TypedGet"} {
		signature, ok := named(ourModule, name).(*types.Signature)
		require.True(t, ok, name)
		constraint, ok := signature.TypeParams().At(0).Constraint().Underlying().(*types.Interface)
		require.True(t, ok, name)
		for _, object := range []types.Type{
			named(core, "Pod"), named(core, "Node"), named(meta, "PartialObjectMetadata"), named(unstructured, "Unstructured"),
		} {
			assert.False(t, types.Satisfies(object, constraint), "%s[%v]", name, object)
			assert.True(t, types.Satisfies(types.NewPointer(object), constraint), "%s[*%v]", name, object)
		}
		for _, other := range []types.Type{named(meta, "Object"), types.Typ[types.String]} {
			assert.True(t, types.Satisfies(other, constraint), "%s[%v]", name, other)
		}
	}
}
