// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// Figure is a picture of lines, of any number of sides.
type Figure struct {
	// File is its name, without a folder.
	File  string `json:"file"`
	Title string `json:"title"`
	// X and Y say what the axes are, with units. Both are logarithmic; an X of "percentile" is as
	// in curves.
	X     string       `json:"x"`
	Y     string       `json:"y"`
	Lines []FigureLine `json:"lines"`
}

// FigureLine is one line. Lines of the same color are of the same side.
type FigureLine struct {
	Label  string  `json:"label"`
	Color  int     `json:"color"`
	Points []Point `json:"points"`
}

// WriteFigures writes figures as JSON.
func WriteFigures(w io.Writer, all []Figure) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}
