// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"testing"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"
)

// TestHolder: the value of a holder is found by its type, also if a type with the holder is embedded in
// another one.
func TestHolder(t *testing.T) {
	type made struct{ Holder[int] }
	type users struct{ *made }
	for name, v := range map[string]any{"value": made{NewHolder(7)}, "pointer": &made{NewHolder(7)}, "embedded": users{&made{NewHolder(7)}}} {
		held, ok := HeldBy[int](v)
		assert.True(t, ok, name)
		assert.Equal(t, 7, held, name)
		_, ok = HeldBy[string](v)
		assert.False(t, ok, name)
	}
	for _, v := range []any{nil, 7, struct{ clientgo.Store }{}} {
		_, ok := HeldBy[int](v)
		assert.False(t, ok)
	}
}

// circle is a wrapper whose GetController returns the wrapper.
type circle struct{ clientgo.Controller }

func (c circle) GetController() clientgo.Controller { return c }

// TestForeign: Of and QueueOf return nil for values of other packages.
func TestForeign(t *testing.T) {
	for _, v := range []any{nil, 7, circle{}, clientgo.NewStore(clientgo.MetaNamespaceKeyFunc), clientgo.NewSharedInformer(nil, nil, 0)} {
		assert.Nil(t, Of(v))
		assert.Nil(t, QueueOf(v))
	}
}
