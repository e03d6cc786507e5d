// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPackageOf checks that a function is named by the path of its package, and a function of
// package main by its folder.
func TestPackageOf(t *testing.T) {
	assert.Equal(t, "manager", packageOf("main.main.func1", "/src/cmd/manager/main.go"))
	assert.Equal(t, "gopkg.in/a.v2", packageOf("gopkg.in/a%2ev2.(*T[...]).F", "a.go"))
}

// TestNamesAreNumberedWhenAlike checks that an equal name gets the first free number.
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
