// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// httpWay is the way in which kinformer's informer decodes. It is the prefix of the names of its
// figures.
type httpWay string

const (
	plainWay      httpWay = ""            // by the client
	tappedWay     httpWay = "tapped"      // directly
	sharedWay     httpWay = "shared"      // directly, sharing equal parts of objects
	keepWay       httpWay = "keep"        // directly, the fields of keptFields
	keepSharedWay httpWay = "keep shared" // directly, these fields, sharing equal parts
	floorWay      httpWay = "floor"       // directly, the metadata alone: what no informer can do without
)

// keptFields are what a network agent reads of pods, besides their metadata.
var keptFields = []string{
	"spec.nodeName", "spec.hostNetwork", "spec.serviceAccountName", "spec.containers.ports", "status.phase", "status.hostIP", "status.podIPs",
}

var decodings = map[httpWay]kinformer.Decoding{
	sharedWay: {ShareParts: true}, keepWay: {Keep: keptFields}, keepSharedWay: {Keep: keptFields, ShareParts: true}, floorWay: {Keep: []string{}},
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
