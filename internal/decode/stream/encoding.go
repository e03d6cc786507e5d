// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream splits the bodies of watches into frames and the bodies of lists into items, in
// JSON and protobuf, and parses frames.
package stream

// Encoding is the encoding of objects on the wire.
type Encoding string

const (
	JSON     Encoding = "json"
	Protobuf Encoding = "protobuf"
)
