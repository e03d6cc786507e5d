// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command interleave instruments packages with points: see internal/interleave of the root module.
//
//	cd tools && go run ./interleave -C .. -o /tmp/points internal/table
//	cd .. && go test -overlay /tmp/points/overlay.json -tags interleave ./internal/table
//
// The command writes instrumented copies of the packages' files to a folder, with an overlay that
// replaces the files. The imports of sync, sync/atomic, hash/maphash and time are replaced by packages of
// internal/interleave, and so are go statements and runtime.Gosched. All lines keep their numbers. Tests
// whose build constraint does not begin with "interleave" are omitted: those that every build needs have
// the constraint "interleave || !interleave".
package main

import (
	"flag"
	"log"
)

func main() {
	root := flag.String("C", "..", "folder of the root module")
	out := flag.String("o", "", "folder for the copies and the overlay")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("interleave: ")
	if *out == "" || flag.NArg() == 0 {
		log.Fatal("-o and packages are needed")
	}
	if err := write(*out, *root, flag.Args()...); err != nil {
		log.Fatal(err)
	}
}
