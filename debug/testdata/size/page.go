// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build page

package main

import "github.com/kinformer/cache/debug"

func init() { mux.Handle("/debug/informers/", debug.Handler(debug.Options{})) }
