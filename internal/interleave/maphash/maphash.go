// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maphash stands for hash/maphash in code that package interleave runs: a text has the same
// hash in each run, and so has one that differs in the case of its letters. So there are collisions
// to be had.
package maphash

// Seed is nothing.
type Seed struct{}

// MakeSeed returns it.
func MakeSeed() Seed { return Seed{} }

// Bytes returns the hash of a text: FNV-1a, as if all letters were small.
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
