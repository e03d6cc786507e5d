// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// scripts are what the suites of these tests do.
var scripts = map[string]string{
	"green": `printf 'ok  \texample/a\t1.0s\n'`,
	"red": `printf -- '--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/sub (0.1s)\n        a_test.go:7: wrong\n--- FAIL: TestB (0.1s)\nFAIL\nFAIL\texample/b\t2.0s\n'
		echo complaint >&2; exit 1`,
	"hung":   `printf 'panic: test timed out after 1s\n\trunning tests:\n\t\tTestHung (1s)\nFAIL\texample/c\t1.0s\n'; exit 1`,
	"broken": `echo 'make: *** no rule'; exit 2`,
}

// newRunner runs scripts, and counts how often it did.
func newRunner(suites ...string) (*runner, *bytes.Buffer, map[string]int) {
	out, runs := &bytes.Buffer{}, map[string]int{}
	return &runner{suites: suites, times: 1, out: out, command: func(ctx context.Context, suite string) *exec.Cmd {
		runs[suite]++
		return exec.CommandContext(ctx, "sh", "-c", scripts[suite])
	}}, out, runs
}

// contains fails for each text that is not in what was printed, in that order.
func contains(t *testing.T, printed string, texts ...string) {
	t.Helper()
	rest := printed
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("no %q where it is to be in:\n%s", text, printed)
		}
		rest = after
	}
}

func TestARedSuiteHidesNoOther(t *testing.T) {
	r, out, runs := newRunner("red", "hung", "broken", "green")
	if err := r.all(t.Context()); !errors.Is(err, errRed) {
		t.Error(err)
	}
	if want := map[string]int{"red": 1, "hung": 1, "broken": 1, "green": 1}; !reflect.DeepEqual(want, runs) {
		t.Errorf("run: %v", runs)
	}
	contains(t, out.String(), "=== red\n", "a_test.go:7: wrong", "complaint", "=== red: RED", "=== green: green", "=== summary",
		"FAIL\texample/b\t2.0s", "FAIL\texample/c\t1.0s", "ok  \texample/a\t1.0s",
		"suite", "red  ", "TestA/sub, TestB\n", "hung  ", "TestHung\n", "broken  ", "no test is named", "green  ", "total  ", "RED\n")
	if strings.Contains(out.String(), "TestA, ") {
		t.Error("a test is named that is red because of a subtest")
	}
}

func TestAllGreen(t *testing.T) {
	r, out, _ := newRunner("green")
	if err := r.all(t.Context()); err != nil {
		t.Error(err)
	}
	contains(t, out.String(), "=== summary", "ok  \texample/a", "all green")
}

func TestRunsGoRoundAndSomeRunOnce(t *testing.T) {
	r, out, runs := newRunner("green", "red")
	r.times, r.once, r.logs = 3, []string{"green"}, t.TempDir()
	if err := r.all(t.Context()); !errors.Is(err, errRed) {
		t.Error(err)
	}
	if want := map[string]int{"green": 1, "red": 3}; !reflect.DeepEqual(want, runs) {
		t.Errorf("run: %v", runs)
	}
	contains(t, out.String(), "=== summary", "TestA/sub 3x, TestB 3x\n")
	log, err := os.ReadFile(filepath.Join(r.logs, "red.3.log"))
	if err != nil || !strings.Contains(string(log), "complaint") {
		t.Errorf("log: %q, %v", log, err)
	}
}

// TestAnInterruptedRunGoesOn: what was run counts, what was given up in the middle does not, nor
// does what was run of other code.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "results.json")
	run := func(code string, interrupt string) (map[string]int, string) {
		r, out, runs := newRunner("green", "red")
		r.times = 2
		var err error
		if r.state, err = openState(path, code); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		command := r.command
		r.command = func(ctx context.Context, suite string) *exec.Cmd {
			if suite == interrupt {
				cancel()
			}
			return command(ctx, suite)
		}
		if err := r.all(ctx); err == nil || errors.Is(err, errRed) != (interrupt == "") {
			t.Error(err)
		}
		return runs, out.String()
	}
	_, first := run("abc", "red")
	contains(t, first, "=== summary", "green  ", "red  ", "not run")
	runs, second := run("abc", "")
	if want := map[string]int{"green": 1, "red": 2}; !reflect.DeepEqual(want, runs) {
		t.Errorf("the rest: %v", runs)
	}
	contains(t, second, "=== summary", "TestA/sub 2x", "total", " 4 ")
	if runs, _ := run("abc", ""); len(runs) > 0 {
		t.Errorf("again: %v", runs)
	}
	if runs, _ := run("def", ""); runs["green"] != 2 {
		t.Errorf("other code: %v", runs)
	}
}

func TestABrokenStateIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(path, ""); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}

func TestACommandThatIsNotThereIsAnError(t *testing.T) {
	r, _, _ := newRunner("green")
	r.command = func(ctx context.Context, _ string) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "none"))
	}
	if err := r.all(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	r, busy, err := parse([]string{"-n", "3", "-busy", "2", "-once", "b c", "-state", dir, "a", "b", "c"}, io.Discard, io.Discard)
	if err != nil || busy != 2 || r.times != 3 || r.logs != dir || r.state == nil ||
		!reflect.DeepEqual(r.suites, []string{"a", "b", "c"}) || !reflect.DeepEqual(r.once, []string{"b", "c"}) {
		t.Errorf("%+v, %d, %v", r, busy, err)
	}
	for _, args := range []string{"", "-n 0 a", "-busy -1 a", "-once b a", "-unknown a"} {
		if _, _, err := parse(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestLinesComeInPieces(t *testing.T) {
	whole, pieces := &reader{}, &reader{}
	text := "--- FAIL: TestA (1s)\nok  \texample/a\t1.0s\n"
	for _, r := range []*reader{whole, pieces} {
		step := len(text)
		if r == pieces {
			step = 3
		}
		for at := 0; at < len(text); at += step {
			if _, err := io.WriteString(r, text[at:min(at+step, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !reflect.DeepEqual(whole, pieces) || len(pieces.redTests()) != 1 || len(pieces.closing) != 1 {
		t.Errorf("%+v, %+v", whole, pieces)
	}
}
