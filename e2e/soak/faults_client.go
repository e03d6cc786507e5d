// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

// clientFaults are what handlers do, and what is done to informers.
var clientFaults = []fault{}
