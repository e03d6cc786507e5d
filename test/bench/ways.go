// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// httpWay is the way in which kinformer's informer decodes. It is the prefix of the names of its
// figures.
type httpWay string

const (
	plainWay      httpWay = ""            // by the client
	tappedWay     httpWay = "tapped"      // directly
	sharedWay     httpWay = "shared"      // directly, sharing equal parts of objects
	keepWay       httpWay = "keep"        // directly, the fields of blank.AgentFields
	keepSharedWay httpWay = "keep shared" // directly, these fields, sharing equal parts
	floorWay      httpWay = "floor"       // directly, the metadata alone: what no informer can do without
)

var decodings = map[httpWay]kinformer.Decoding{
	sharedWay: {ShareParts: true}, keepWay: {Keep: blank.AgentFields}, keepSharedWay: {Keep: blank.AgentFields, ShareParts: true}, floorWay: {Keep: []string{}},
}

// ways returns the ways of a row, the first one plainWay.
func (r httpRow) ways() []httpWay {
	ways := []httpWay{plainWay, tappedWay, sharedWay}
	if r.of != world.Pods || r.untyped() || r.alone || r.tls {
		return ways
	}
	switch r.kind {
	case httpPeak:
		return append(ways, keepWay, keepSharedWay)
	case httpWatch:
		return append(ways, keepWay, keepSharedWay, floorWay)
	}
	return ways
}
