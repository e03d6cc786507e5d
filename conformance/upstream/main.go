// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream runs client-go's own tests of tools/cache and its sub-packages, read from the
// module cache, against this project.
//
//	cd conformance && go run ./upstream [-run regexp] [-keep dir]
//
// The tests are those of the version that go.mod asks for. They are rewritten and pruned in a
// temporary directory, and run with the race detector; nothing of them is stored here.
//
//	module cache ─▶ rewrite ─▶ prune ─▶ temporary module ─▶ go test -race
//	 *_test.go      names of     what cannot   + shims
//	                ours         compile
//
// Tests that make a Reflector run a second time with a type of ours in Reflector's place, which
// drives our own engine (shims/shims.go).
//
// It prints how many tests were kept and have passed, and what each other one would need. The exit
// status is 1 if a test does not pass, or fewer are left than can be kept.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

func main() {
	keep := flag.String("keep", "", "write the rewritten tests into this new `directory` and leave them there")
	only := flag.String("run", "", "run only the tests whose names match this `regexp`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *keep, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// suite is the tests of a package of client-go.
type suite struct {
	path  string // below client-go's root
	rig   bool   // runs those that make a Reflector, with the rig in its place
	floor int    // how many can be kept: fewer mean that an exported name was lost
}

var suites = []suite{
	{path: "tools/cache", floor: 106},
	{path: "tools/cache", rig: true, floor: 21},
	{path: "tools/cache/synctrack", floor: 10},
	{path: "tools/cache/testing", floor: 2},
}

func (s suite) String() string {
	if s.rig {
		return s.path + " (rig)"
	}
	return s.path
}

// run runs all suites. It must be called inside the conformance module.
func run(ctx context.Context, keep, only string, out io.Writer) (err error) {
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir := keep
	if dir != "" {
		err = os.Mkdir(dir, 0o755)
	} else if dir, err = os.MkdirTemp("", "upstream-"); err == nil {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err != nil {
		return err
	}
	w, err := newWorkspace(ctx, dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range suites {
		if err := s.run(ctx, w, filter, out); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s, err))
		}
	}
	return errors.Join(failed...)
}

// run writes the tests of a suite into the workspace, prints why others are left out, and runs
// those that are selected.
func (s suite) run(ctx context.Context, w *workspace, filter *regexp.Regexp, out io.Writer) error {
	folder, kept, drops, total, err := w.add(ctx, s)
	if err != nil {
		return err
	}
	for _, d := range drops {
		fmt.Fprintf(out, "    dropped %-60s %s:%d: %s\n", d.name, d.file, d.line, d.why)
	}
	fmt.Fprintf(out, "%s: %d of %d tests kept\n", s, len(kept), total)
	if len(kept) < s.floor {
		return fmt.Errorf("only %d tests were kept where %d can be", len(kept), s.floor)
	}
	var selected []string
	for _, test := range kept {
		if filter.MatchString(test) {
			selected = append(selected, test)
		}
	}
	if len(selected) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-race", "-vet=off", "-timeout=2h", "-run=^("+strings.Join(selected, "|")+")$", "./"+folder)
	cmd.Dir = w.dir
	printed, err := cmd.CombinedOutput()
	ended, text := outcomes(printed)
	fmt.Fprintf(out, "%s: passed %d, skipped %d, failed %d\n", s, ended["pass"], ended["skip"], ended["fail"])
	if err == nil && ended["pass"]+ended["skip"] != len(selected) {
		err = fmt.Errorf("%d tests did not end", len(selected)-ended["pass"]-ended["skip"])
	}
	if err != nil {
		fmt.Fprintln(out, text)
	}
	return err
}

// outcomes counts how tests that are not within others have ended, and returns what was printed.
func outcomes(printed []byte) (ended map[string]int, text string) {
	ended = map[string]int{}
	for line := range bytes.Lines(printed) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			event.Output = string(line)
		}
		if text += event.Output; event.Test != "" && !strings.Contains(event.Test, "/") {
			ended[event.Action]++
		}
	}
	return ended, text
}
