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
//	module cache ─▶ rewrite ─▶ prune ─▶ temporary module ─▶ go test -c -race ─▶ run ─▶ judge
//	 *_test.go      names of     what cannot   + shims                            all    against the
//	                ours         compile                                       at once,  list of known
//	                                                                           listed    failures
//	                                                                           one by one
//
// Tests that make a Reflector run a second time in the rig mode, with a type of ours in Reflector's
// place that drives our own engine (shims/ours/rig.go).
//
// The verdict is strict in both directions. A test that fails and is not in expected_failures.txt
// fails the run; so does a listed test that passes, or that is no longer kept: the list can only
// shrink. Tests that are listed run each in a process of its own, after the others, so that none of
// them can spoil the search for leaked goroutines that upstream's TestMain makes at the end of the
// run.
package upstream
