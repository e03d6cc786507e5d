// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/cache/bench/internal/report"
)

// results are two rows of one group, the second with a distribution that has a
// zero and a course over time.
func results(t *testing.T) string {
	t.Helper()
	document := report.Document{Sides: [2]report.Side{{Name: "one"}, {Name: "other"}}}
	for _, name := range []string{"a/x", "a/y"} {
		row := report.Row{Group: "A", Name: name}
		for round := range 3 {
			row.Record(0, "CPU", "ns", float64(100+round))
			row.Record(1, "CPU", "ns", float64(round)) // reaches zero
		}
		document.Rows = append(document.Rows, row)
	}
	for side := range document.Sides {
		document.Rows[1].Draw(side, "latency", "percentile", "us", []report.Point{{0.1, 0}, {50, 3}, {99.99, 40}, {100, 50}})
		document.Rows[1].Draw(side, "heap", "s", "MB", []report.Point{{-0.1, -1}, {0, 30}, {2, 10}})
	}
	path := filepath.Join(t.TempDir(), "in.json")
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(document.WriteJSON(file), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryPictureOfTheReportIsDrawn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "charts")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(out, "stale.svg")
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-in", results(t), "-out", out}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string][]string{
		"bars-a.svg":      {"a/x  CPU", "a/y  CPU", "one", "other", "relative to the median of one"},
		"a-y-latency.svg": {"a/y: latency", "99.99", "max", "us"},
		"a-y-heap.svg":    {"a/y: heap", "MB", "a line for each round"},
	} {
		text := texts(t, filepath.Join(out, file))
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s does not show %q but %q", file, word, text)
			}
		}
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a picture of an earlier run is still there: %v", err)
	}
}

// texts are the texts of a well-formed SVG.
func texts(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []string
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "\n")
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if text, ok := token.(xml.CharData); ok {
			all = append(all, string(text))
		}
	}
}

func TestBadInput(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-in", empty}, io.Discard); !errors.Is(err, errNothing) {
		t.Errorf("no rows: %v", err)
	}
	for _, args := range [][]string{{"-in", "no such file"}, {"-in", "main.go"}, {"-nosuchflag"}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestPercentilesLieAtEqualDistances(t *testing.T) {
	ninety, ninetyNine, more := percentilePlace(90), percentilePlace(99), percentilePlace(99.9)
	if d := (more - ninetyNine) - (ninetyNine - ninety); d > 1e-9 || d < -1e-9 {
		t.Errorf("places of 90, 99 and 99.9: %v %v %v", ninety, ninetyNine, more)
	}
}

// TestFiguresOfAReadmeAreDrawn: each row of the table is a bar with its text and figures, for both
// modes, and nothing else is.
func TestFiguresOfAReadmeAreDrawn(t *testing.T) {
	folder := t.TempDir()
	readme := filepath.Join(folder, "README.md")
	table := "| what | a | b | ratio | row |\n|---|---:|---:|---:|---|\n" +
		"| time of `x`, ns | 1,000 | 250 | 4.00 | `a/b-1/x`: CPU |\n| bytes | 2 | 9 | 0.22 | `c/d`: B |\n| other | 3 | 4 | - | no row |\n"
	if err := os.WriteFile(readme, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-readme", readme, "-out", folder}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"light", "dark"} {
		picture, err := os.ReadFile(filepath.Join(folder, "figures-"+mode+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{">time of x, ns<", ">1,000 → 250<", ">bytes<", ">2 → 9<"} {
			if !strings.Contains(string(picture), want) {
				t.Errorf("%s has no %s", mode, want)
			}
		}
		if strings.Contains(string(picture), "other") {
			t.Errorf("%s shows what has no row", mode)
		}
	}
	if err := os.WriteFile(readme, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-readme", readme, "-out", folder}, io.Discard); !errors.Is(err, errNothing) {
		t.Errorf("an empty file: %v", err)
	}
}
