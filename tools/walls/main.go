// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command walls measures how the library is divided, from its sources, so that a change of the
// layout can be judged by figures. TestWalls of the root holds who may import whom; this counts
// what is left.
//
//	cd tools && go run ./walls
//
// It prints the rooms, which are the packages of the root module that an informer is made of, with
// the uses between their files; the uses between rooms; and the way of an event: the files and
// functions that one MODIFIED event executes and an idle informer does not, by coverage. A use,
// also called an arrow, is a pair of files of which one names something that the other declares. A
// circle is a set of files that use each other, directly or through others of the set.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

func main() {
	dir := flag.String("C", "..", "folder of the root module")
	files := flag.Bool("files", false, "name the files of each circle and of the way")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*dir, *files); err != nil {
		log.Fatal("walls: ", err)
	}
}

func run(dir string, names bool) error {
	house, err := load(dir)
	if err != nil {
		return err
	}
	house.printRooms(os.Stdout, names)
	house.printArrows(os.Stdout)
	way, err := measureWay()
	if err != nil {
		return fmt.Errorf("way of an event: %w", err)
	}
	way.print(os.Stdout, names)
	return nil
}
