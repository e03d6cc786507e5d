// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"testing"

	"github.com/stretchr/testify/assert"
	clientgo "k8s.io/client-go/tools/cache"
)

// circle is a wrapper whose GetController returns the wrapper.
type circle struct{ clientgo.Controller }

func (c circle) GetController() clientgo.Controller { return c }

// TestForeign: TableOf returns nil for values of other packages.
func TestForeign(t *testing.T) {
	for _, v := range []any{nil, 7, circle{}, clientgo.NewStore(clientgo.MetaNamespaceKeyFunc), clientgo.NewSharedInformer(nil, nil, 0)} {
		assert.Nil(t, TableOf(v))
	}
}
