// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"runtime"
	"sync"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
)

// TestNothingIsKept: the registry does not retain elements that have left.
func TestNothingIsKept(t *testing.T) {
	var r Registry[*[64]byte]
	ended := func() weak.Pointer[[64]byte] {
		what := new([64]byte)
		r.Leave(r.Enter(what))
		return weak.Make(what)
	}()
	runtime.GC()
	assert.Nil(t, ended.Value())
	runtime.KeepAlive(&r)
}

func TestRegistry(t *testing.T) {
	var r Registry[string]
	assert.Empty(t, r.All())
	a, b, c := r.Enter("a"), r.Enter("b"), r.Enter("c")
	assert.Equal(t, []uint64{1, 2, 3}, []uint64{a, b, c})
	r.Leave(b)
	r.Leave(b)
	assert.Equal(t, []string{"a", "c"}, r.All())
	what, found := r.Find(c)
	assert.True(t, found)
	assert.Equal(t, "c", what)
	_, found = r.Find(b)
	assert.False(t, found, "it has ended")
	assert.EqualValues(t, 4, r.Enter("b"), "no number is given twice")
	assert.Equal(t, []string{"a", "c", "b"}, r.All())

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				number := r.Enter("x")
				assert.Contains(t, r.All(), "x")
				r.Leave(number)
			}
		})
	}
	group.Wait()
	assert.Equal(t, []string{"a", "c", "b"}, r.All())
}
