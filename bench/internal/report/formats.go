// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// WriteJSON writes the whole document, samples included.
func (d *Document) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Read returns the document that WriteJSON has written to a file.
func Read(path string) (*Document, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	d := &Document{}
	if err := json.Unmarshal(content, d); err != nil {
		return nil, fmt.Errorf("read results: %s: %w", path, err)
	}
	return d, nil
}

// WriteBenchstat writes one benchmark result per row, side and round. The two
// sides are told apart by the key "side": `benchstat -col /side FILE`.
func (d *Document) WriteBenchstat(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, d.Machine.CPU)
	for i := range d.Rows {
		for side := range d.Sides {
			d.writeResults(&b, &d.Rows[i], side)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write benchstat: %w", err)
	}
	return nil
}

func (d *Document) writeResults(b *strings.Builder, row *Row, side int) {
	for round := range rounds(row, side) {
		fmt.Fprintf(b, "Benchmark%s/side=%s-%d 1", title(row.Name), word(d.Sides[side].Name), d.Machine.GOMAXPROCS)
		for _, m := range row.Measures {
			if round < len(m.Samples[side]) {
				fmt.Fprintf(b, " %g %s", m.Samples[side][round], unit(m))
			}
		}
		b.WriteByte('\n')
	}
}

// rounds is the number of samples that the row has of a side.
func rounds(row *Row, side int) int {
	n := 0
	for _, m := range row.Measures {
		n = max(n, len(m.Samples[side]))
	}
	return n
}

// title is a row's name in the form of a benchmark function's.
func title(name string) string {
	name = word(name)
	return strings.ToUpper(name[:1]) + name[1:]
}

// unit joins a measure's name and unit to what benchstat takes for a unit,
// which is a word without spaces.
func unit(m Measure) string {
	return word(m.Name + "-" + m.Unit)
}

// word joins words by dashes: benchstat's fields are split at spaces.
func word(s string) string { return strings.ReplaceAll(s, " ", "-") }
