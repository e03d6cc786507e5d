// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
)

// fault breaks something for some seconds and mends it before it returns. An error ends the run.
type fault struct {
	name string
	run  func(ctx context.Context, r *run, random *rand.Rand) error
}

// lane is a list of faults of which one at a time happens.
type lane []fault

// lanes are what goes on side by side.
var lanes = []lane{slices.Concat(networkFaults, serverFaults), clientFaults}

// choose returns a fault of those that are selected, nil if none is.
func (l lane) choose(random *rand.Rand, selected *regexp.Regexp) *fault {
	n := random.Uint64()
	var matching []*fault
	for i := range l {
		if selected.MatchString(l[i].name) {
			matching = append(matching, &l[i])
		}
	}
	if len(matching) == 0 {
		return nil
	}
	return matching[n%uint64(len(matching))]
}

// between draws a time.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}
