// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPackageOf: a function is named by the path of its package, one of a program by its folder.
func TestPackageOf(t *testing.T) {
	assert.Equal(t, "manager", packageOf("main.main.func1", "/src/cmd/manager/main.go"))
	assert.Equal(t, "gopkg.in/a.v2", packageOf("gopkg.in/a%2ev2.(*T[...]).F", "a.go"))
}

// TestNamesAreNumberedWhenAlike: with the first number that is free.
func TestNamesAreNumberedWhenAlike(t *testing.T) {
	r := &registry{}
	add := func(name string) string {
		l := &Listener{}
		l.name = r.freeNameLocked(name)
		r.listeners = append(r.listeners, l)
		return l.name
	}
	assert.Equal(t, []string{"a", "a#2", "b", "a#3"}, []string{add("a"), add("a"), add("b"), add("a")})
	r.listeners = append(r.listeners[:1], r.listeners[2:]...)
	assert.Equal(t, []string{"a#2", "a#4", "b#2"}, []string{add("a"), add("a"), add("b")})
}
