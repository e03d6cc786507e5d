// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
)

// largestCircle returns the largest set of files that use each other, sorted; none if no two do.
func largestCircle(files map[string]int, uses map[string][]string) (largest []string) {
	reaches := map[string]map[string]bool{}
	for file := range files {
		reaches[file] = reachable(file, uses)
	}
	for file := range files {
		var circle []string
		for other := range reaches[file] {
			if reaches[other][file] {
				circle = append(circle, other)
			}
		}
		slices.Sort(circle)
		if len(circle) > len(largest) || len(circle) == len(largest) && slices.Compare(circle, largest) < 0 {
			largest = circle
		}
	}
	return largest
}

// reachable returns the files that file uses, directly or through others. It is among them only if
// it is in a circle.
func reachable(file string, uses map[string][]string) map[string]bool {
	seen, open := map[string]bool{}, slices.Clone(uses[file])
	for len(open) > 0 {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		if !seen[next] {
			seen[next] = true
			open = append(open, uses[next]...)
		}
	}
	return maps.Clone(seen)
}
