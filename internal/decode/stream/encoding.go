// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream cuts the bodies of watches and lists into frames and items, in JSON and protobuf,
// and takes frames apart.
package stream

// Encoding is how objects are written on the wire.
type Encoding string

const (
	JSON     Encoding = "json"
	Protobuf Encoding = "protobuf"
)
