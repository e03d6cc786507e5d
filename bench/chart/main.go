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
// ones. They have colors for light and for dark pages. The third form draws the figures of
// README.md, once for each.
package main

import (
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
	document, err := report.Read(*in)
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
		if err := picture(p, filepath.Join(*out, p.File)); err != nil {
			return fmt.Errorf("%s: %w", p.File, err)
		}
	}
	return nil
}

var errNothing = errors.New("there is nothing to draw")

// picture draws one picture into a file.
func picture(p report.Picture, path string) error {
	if len(p.Bars) == 0 {
		return light.saveLines(path, p)
	}
	says := p.Says + ", as a share of what " + p.Sides[0] + " takes. Less is better. ≈: the difference may be chance. Noisy: a side varies by more than its median."
	return light.saveBars(path, heading{title: p.Title, says: says}, p)
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
