// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upstream runs client-go's own tests of tools/cache and its sub-packages against this
// project's packages.
//
// The tests are read from the module cache at the version that go.mod asks for, rewritten and
// pruned in a temporary directory, compiled with the race detector and run; nothing of them is
// stored here. What is printed says which tests were kept, which passed and failed, and why each of
// the others was left out.
//
//	module cache ─▶ rewrite ─▶ prune ─▶ temporary module ─▶ go test -c -race ─▶ run
//	 *_test.go      names of     what cannot   + shims
//	                ours         compile
//
// Tests that make a Reflector run a second time in the rig mode, with a type of ours in Reflector's
// place that drives our own engine (shims/ours/rig.go).
//
// A test that does not pass fails the run, and so do fewer tests than can be kept.
package upstream
