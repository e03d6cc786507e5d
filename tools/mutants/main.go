// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutants checks that the schedules and the tests of internal/table, internal/eventlog and
// internal/fanout fail if a line of their protocols is wrong.
//
//	cd tools && go run ./mutants
//
// Each patch in testdata/mutants of a package makes one fault, and is applied to a copy of the
// package. All schedules of the copy are run (see internal/interleave), with as many preemptions as
// by make schedules. If none of them fails, the tests that the patch names must fail, which are
// repeated with the race detector. The copy without a patch must pass all of them.
//
// The command prints a table, and exits with 1 if a mutant has survived. With -patience 0 it runs
// only the schedules.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	root := flag.String("C", "..", "folder of the root module")
	names := flag.String("run", "", "only the mutants whose names, such as internal/table/pin-late, match this `regexp`")
	patience := flag.Duration("patience", 2*time.Minute, "time limit for the tests of a mutant that the schedules have not killed")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survived, err := run(ctx, *root, *names, *patience)
	if err != nil {
		log.Fatal(err)
	}
	if survived > 0 {
		log.Fatalf("%d have survived", survived)
	}
}

func run(ctx context.Context, root, names string, patience time.Duration) (survived int, err error) {
	wanted, err := regexp.Compile(names)
	if err != nil {
		return 0, err
	}
	mutants, err := readMutants(root)
	if err != nil {
		return 0, err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
		return !wanted.MatchString(m.pkg+"/"+m.name) && !wanted.MatchString(m.name)
	})
	for _, pkg := range packages {
		if err := passes(ctx, root, pkg, mutants, patience > 0); err != nil {
			return 0, err
		}
	}
	fmt.Printf("| mutant | what is wrong | killed by | after |\n|---|---|---|---:|\n")
	for _, m := range mutants {
		killer, after, err := m.kill(ctx, root, patience)
		if err != nil {
			return survived, fmt.Errorf("%s: %w", m.name, err)
		}
		if killer == "" {
			survived++
			killer = "**none**"
		}
		fmt.Printf("| %s | %s | %s | %.1f s |\n", m.name, m.wrong, killer, after.Seconds())
	}
	return survived, nil
}

// passes returns an error unless the unchanged package passes the schedules and, if alsoTests, the
// tests that its mutants name.
func passes(ctx context.Context, root, pkg string, mutants []mutant, alsoTests bool) error {
	var tests []string
	for _, m := range mutants {
		if m.pkg == pkg {
			name, _, _ := strings.Cut(m.tests, "/")
			tests = append(tests, name)
		}
	}
	if len(tests) == 0 {
		return nil
	}
	c, err := newCopy(root)
	if err != nil {
		return err
	}
	defer c.remove()
	b, err := c.schedules(ctx, pkg)
	if err != nil {
		return err
	}
	if killer, output := b.run(ctx, schedules, scheduleTime); killer != "" {
		return fmt.Errorf("the schedules fail without a mutant: %s\n%s", killer, output)
	}
	if !alsoTests {
		return ctx.Err()
	}
	if b, err = c.tests(ctx, pkg); err != nil {
		return err
	}
	slices.Sort(tests)
	all := strings.Join(slices.Compact(tests), "|")
	if killer, output := b.run(ctx, all, 10*time.Minute, "-rapid.nofailfile"); killer != "" {
		return fmt.Errorf("the tests fail without a mutant: %s\n%s", killer, output)
	}
	return ctx.Err()
}
