// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Known is one test that is known not to pass.
type Known struct {
	Package string
	Mode    Mode
	Test    string
	// Skip says that the test is not even run, because it would take others with it.
	Skip bool
	// Reason says why, in a sentence.
	Reason string
}

//go:embed expected_failures.txt
var expectedFailures string

// Ledger is the list of the tests that are known not to pass.
type Ledger []Known

// ParseLedger reads a list: one test a line, with package, mode, test, "fails" or "skip", and the
// reason, separated by blanks. Empty lines and lines that begin with # say nothing.
func ParseLedger(text string) (Ledger, error) {
	var out Ledger
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKnown(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, ok := out.find(k.Package, k.Mode, k.Test); ok {
			return nil, fmt.Errorf("line %d: %s stands there twice", n, k.Test)
		}
		out = append(out, k)
	}
	return out, nil
}

func parseKnown(line string) (Known, error) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return Known{}, fmt.Errorf("%q has no package, mode, test, verdict and reason", line)
	}
	k := Known{Package: f[0], Mode: Mode(f[1]), Test: f[2], Skip: f[3] == "skip", Reason: strings.Join(f[4:], " ")}
	if f[3] != "fails" && f[3] != "skip" {
		return Known{}, fmt.Errorf("%q is neither fails nor skip", f[3])
	}
	s := slices.IndexFunc(sources, func(s source) bool { return s.path == k.Package })
	if s < 0 || !slices.Contains(sources[s].modes, k.Mode) {
		return Known{}, fmt.Errorf("%s is not run in the mode %s", k.Package, k.Mode)
	}
	return k, nil
}

func (l Ledger) find(pkg string, mode Mode, test string) (Known, bool) {
	i := slices.IndexFunc(l, func(k Known) bool { return k.Package == pkg && k.Mode == mode && k.Test == test })
	if i < 0 {
		return Known{}, false
	}
	return l[i], true
}

// gone lists the entries for a suite that name no test of it.
func (l Ledger) gone(s *Suite) []Known {
	var out []Known
	for _, k := range l {
		if k.Package == s.Package && k.Mode == s.Mode && !slices.Contains(s.Tests, k.Test) {
			out = append(out, k)
		}
	}
	return out
}
