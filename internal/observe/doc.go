// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe is the door between informers and those who look at them: which informers run, and
// what package inspect has to know of one. The root package fills it.
//
// What it promises: nothing is done for an event, and nothing of what has ended is kept.
package observe
