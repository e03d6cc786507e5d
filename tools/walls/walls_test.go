// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
)

// withoutCircles are the rooms in which files use each other in one direction only.
var withoutCircles = []string{"internal/event", "internal/reflector", "internal/queue", "internal/store",
	"internal/fanout", "internal/identical", "internal/eventlog", "internal/table"}

// TestNoCircles: of each room there is a file that can be read without the others, then one that
// needs only that, and so on.
func TestNoCircles(t *testing.T) {
	house, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range withoutCircles {
		room := house.rooms[name]
		if room == nil {
			t.Errorf("there is no room %s", name)
			continue
		}
		if circle := largestCircle(room.files, house.inside(name)); len(circle) > 0 {
			t.Errorf("%s: files use each other: %v", name, circle)
		}
	}
}
