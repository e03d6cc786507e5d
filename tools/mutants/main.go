// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutants shows that the tests of internal/table notice when a line of its protocol is wrong.
//
//	cd tools && go run ./mutants
//
// Each patch in internal/table/testdata/mutants breaks one thing. It is applied to a copy of the package, whose tests then have
// to fail, with the race detector: those that the patch names, again and again, as most of them are a matter of chance. The
// copy without a patch has to pass them.
//
// It prints a table, and exits with 1 if a mutant has survived.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	root := flag.String("C", "..", "folder of the root module")
	names := flag.String("run", "", "only the mutants whose names match this `regexp`")
	patience := flag.Duration("patience", 2*time.Minute, "for how long the tests of one mutant are run")
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
	if err := passes(ctx, root, mutants); err != nil {
		return 0, err
	}
	fmt.Printf("| mutant | what is wrong | killed by | after |\n|---|---|---|---:|\n")
	for _, m := range mutants {
		if !wanted.MatchString(m.name) {
			continue
		}
		killer, after, err := m.kill(ctx, root, patience)
		if err != nil {
			return survived, fmt.Errorf("%s: %w", m.name, err)
		}
		if killer == "" {
			survived++
			killer = "**nobody**"
		}
		fmt.Printf("| %s | %s | %s | %.1f s |\n", m.name, m.wrong, killer, after.Seconds())
	}
	return survived, nil
}

// passes runs the tests that the mutants name on the package as it is.
func passes(ctx context.Context, root string, mutants []mutant) error {
	var tests []string
	for _, m := range mutants {
		name, _, _ := strings.Cut(m.tests, "/")
		tests = append(tests, name)
	}
	c, err := newCopy(root)
	if err != nil {
		return err
	}
	defer c.remove()
	if err := c.build(ctx); err != nil {
		return err
	}
	if killer, output := c.test(ctx, strings.Join(tests, "|"), 10*time.Minute); killer != "" {
		return fmt.Errorf("the tests fail without a mutant: %s\n%s", killer, output)
	}
	return ctx.Err()
}
