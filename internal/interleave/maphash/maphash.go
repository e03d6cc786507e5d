// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maphash replaces hash/maphash in code run by package interleave. Hashes are the same in
// each run, and texts that differ only in case have the same hash, so that there are collisions.
package maphash

// Seed is empty.
type Seed struct{}

// MakeSeed returns a Seed.
func MakeSeed() Seed { return Seed{} }

// Bytes returns the hash of a text: FNV-1a of the text in lower case.
func Bytes(_ Seed, text []byte) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	hash := uint64(offset)
	for _, b := range text {
		hash = (hash ^ uint64(b|0x20)) * prime
	}
	return hash
}

// String returns the hash of a text.
func String(seed Seed, text string) uint64 { return Bytes(seed, []byte(text)) }
