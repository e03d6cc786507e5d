// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/cache/bench/internal/report"
)

func figuresFile(t *testing.T, all ...report.Figure) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "figures.json")
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(report.WriteFigures(file, all), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPicturesOfAClusterAreDrawn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "figures")
	from := figuresFile(t,
		report.Figure{File: "a.svg", Title: "cost", X: "nodes", Y: "CPU", Lines: []report.FigureLine{
			{Label: "one", Points: []report.Point{{100, 1}, {10_000, 80}}}, {Label: "fourth", Color: 3, Points: []report.Point{{100, 2}}}}},
		report.Figure{File: "b.svg", Title: "late", X: "percentile", Y: "ms", Lines: []report.FigureLine{
			{Label: "one", Points: []report.Point{{50, 1}, {99.9, 80}, {100, 100}}}}},
	)
	if err := run([]string{"-cluster", from, "-out", out}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string][]string{
		"a.svg": {"cost", "nodes", "CPU", "one", "fourth", "10,000"}, "b.svg": {"late", "milliseconds", "99.9", "max"},
	} {
		text := texts(t, filepath.Join(out, file))
		checkDrawing(t, filepath.Join(out, file))
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s does not show %q but %q", file, word, text)
			}
		}
	}
}

func TestBadPicturesOfACluster(t *testing.T) {
	bad := report.Figure{File: "a.svg", Lines: []report.FigureLine{{Color: 4}}}
	if err := clusterPictures(figuresFile(t, bad), t.TempDir()); !errors.Is(err, errColor) {
		t.Errorf("a color that is not there: %v", err)
	}
	if err := clusterPictures(figuresFile(t), t.TempDir()); !errors.Is(err, errNothing) {
		t.Errorf("no figures: %v", err)
	}
	for _, path := range []string{"no such file", "main.go"} {
		if err := clusterPictures(path, t.TempDir()); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
