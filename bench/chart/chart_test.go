// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/kinformer/cache/bench/internal/report"
)

// results are three rows of one group, the second with a distribution that has a zero and a course
// over time, and the third with direct decoding.
func results(t *testing.T) string {
	t.Helper()
	document := report.Document{Sides: [2]report.Side{{Name: "one"}, {Name: "other"}}}
	for _, name := range []string{"a/x", "a/y", "a/z"} {
		row := report.Row{Group: "A", Name: name}
		for round := range 3 {
			row.Record(0, "CPU", "ns", float64(100+round))
			row.Record(1, "CPU", "ns", float64(round)) // reaches zero
		}
		document.Rows = append(document.Rows, row)
	}
	for side := range document.Sides {
		document.Rows[2].Record(side, "tapped, CPU", "ns", float64(100+20*side))
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
		"bars-a.svg": {"a/x", "a/y", "a/z with direct", "other with package direct", "one", "one → other", "100 → 120",
			"CPU, nanoseconds, as a share of what one takes."},
		"a-y-latency.svg": {"a/y: latency", "99.99", "max", "microseconds", "one", "other"},
		"a-y-heap.svg":    {"a/y: heap", "megabytes", "seconds", "a line for each round"},
	} {
		text := texts(t, filepath.Join(out, file))
		checkDrawing(t, filepath.Join(out, file))
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

// drawnText is where a text that is not turned begins, how large its letters are, and what it is.
var drawnText = regexp.MustCompile(`(?s)<text x="(-?[\d.e-]+)" y="-([\d.e-]+)"[^>]*font-size:([\d.]+)px[^>]*>([^<]*)<`)

// checkDrawing checks that nothing of a picture is cut, that each color has one for dark pages, and
// that each font is one that every viewer has.
func checkDrawing(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := drawnText.FindAllStringSubmatch(string(content), -1)
	if len(found) < 8 {
		t.Errorf("%s: this test finds %d texts", path, len(found))
	}
	for _, cells := range found {
		x, _ := strconv.ParseFloat(cells[1], 64)
		size, _ := strconv.ParseFloat(cells[3], 64)
		if end := x + float64(light.style(vg.Length(size)).Width(html.UnescapeString(cells[4]))); x < 0 || end > float64(width) {
			t.Errorf("%s: %q lies from %.0f to %.0f of %.0f points", path, cells[4], x, end, float64(width))
		}
	}
	for _, color := range regexp.MustCompile(`"[^"]*(?:fill|stroke):#\w{6}[^"]*"`).FindAllString(string(content), -1) {
		for _, one := range regexp.MustCompile(`(?:fill|stroke):#\w{6}`).FindAllString(color, -1) {
			if !strings.Contains(darkRules(), `[style*="`+one+`"]`) {
				t.Errorf("%s: %s has no color for dark pages", path, one)
			}
		}
	}
	if !strings.Contains(string(content), "prefers-color-scheme:dark") || strings.Contains(string(content), "Liberation") {
		t.Errorf("%s has no dark colors, or a font of its own", path)
	}
}

// TestLongHeadingsAreWrapped: a heading that is wider than the picture takes several lines.
func TestLongHeadingsAreWrapped(t *testing.T) {
	said := strings.Repeat("a few words ", 30)
	lines := wrapped(light.style(textSize), said)
	if len(lines) < 3 || strings.Join(lines, " ") != strings.TrimSpace(said) {
		t.Errorf("%q", lines)
	}
	if one := (heading{title: "a"}).height(light); one >= (heading{title: "a", says: said}).height(light) {
		t.Errorf("a heading of several lines is as high as one of one: %v", one)
	}
	if lines := wrapped(light.style(textSize), ""); len(lines) != 0 {
		t.Errorf("nothing takes %d lines", len(lines))
	}
}

// TestShareTicks: client-go's 1 is a tick of each axis that has room for it, and there are few.
func TestShareTicks(t *testing.T) {
	for _, longest := range []float64{0.1, 1, 1.9, 3.9, 7, 30, 4000} {
		ticks := shareTicks(max(1.25, longest), shareStep(longest))
		if len(ticks) < 4 || len(ticks) > 9 || ticks[0].Value != 0 {
			t.Errorf("up to %v: %v", longest, ticks)
		}
		if longest < 8 && !slices.ContainsFunc(ticks, func(tick plot.Tick) bool { return tick.Value == 1 && tick.Label == "1" }) {
			t.Errorf("up to %v: no 1 in %v", longest, ticks)
		}
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
