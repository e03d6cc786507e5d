// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart draws the pictures of a benchmark from its JSON:
//
//	cd bench/chart && go run . -in ../../bin/bench.json -out ../../docs/benchmarks/charts
//	cd bench/chart && go run . -cluster ../../bin/bench-cluster-all.json -out ../../docs/benchmarks/cluster
//	cd bench/chart && go run . -readme ../../README.md -out ../../docs/pictures
//
// The first form draws what bench -json has written, the second what bench/cluster -figures has.
// Both replace the SVG files of the folder. The reports decide which pictures there are
// (report.Document.Pictures, and result.Figures of the cluster), and their Markdown shows the same
// ones. The third form draws the figures of README.md, for light and for dark pages.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kinformer/cache/bench/internal/report"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", "bench.json", "the benchmark's results, a `file` that its flag -json wrote")
	readme := flags.String("readme", "", "draw the figures of this `file` instead")
	lines := flags.String("cluster", "", "draw the pictures of this `file` instead, which bench/cluster wrote")
	out := flags.String("out", ".", "the `folder` for the pictures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *readme != "" {
		return drawFigures(*readme, *out)
	}
	if *lines != "" {
		return clusterPictures(*lines, *out)
	}
	document, err := read(*in)
	if err != nil {
		return err
	}
	pictures := document.Pictures()
	if len(pictures) == 0 {
		return fmt.Errorf("%s: %w", *in, errNothing)
	}
	if err := clear(*out); err != nil {
		return err
	}
	for _, p := range pictures {
		if err := picture(document, p, filepath.Join(*out, p.File)); err != nil {
			return fmt.Errorf("%s: %w", p.File, err)
		}
	}
	return nil
}

var errNothing = errors.New("there is nothing to draw")

func read(path string) (*report.Document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	document := &report.Document{}
	if err := json.Unmarshal(content, document); err != nil {
		return nil, fmt.Errorf("read results: %s: %w", path, err)
	}
	return document, nil
}

// clear makes the folder and removes the pictures of an earlier run.
func clear(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil {
		return fmt.Errorf("old pictures: %w", err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("old pictures: %w", err)
		}
	}
	return nil
}
