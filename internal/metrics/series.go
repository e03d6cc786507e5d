// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strings"
)

// Series is the set of labels of a value. While the informer runs, each Read returns the same
// *Series for the same labels.
type Series struct {
	Labels []Label // sorted by name
	// Form belongs to the caller of Read, who may store a conversion of Labels here.
	Form any
}

// Label is the name and the value of a label.
type Label struct{ Name, Value string }

// MaxText is the largest number of bytes of a text in a label value.
const MaxText = 128

// Other is the label value for everything beyond the bounds of Options.
const Other = "other"

// newSeries returns a series of alternating names and values.
func newSeries(pairs ...string) *Series { return (&Series{}).with(pairs...) }

// with returns a series with additional labels.
func (s *Series) with(pairs ...string) *Series {
	labels := make([]Label, 0, len(s.Labels)+len(pairs)/2)
	labels = append(labels, s.Labels...)
	for i := 0; i < len(pairs); i += 2 {
		labels = append(labels, Label{pairs[i], pairs[i+1]})
	}
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return &Series{Labels: labels}
}

// labelText returns text as a label value: shortened to MaxText, in valid UTF-8.
func labelText(text string) string {
	const more = "..."
	text = strings.ToValidUTF8(text[:min(len(text), MaxText+1)], "?")
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText-len(more)], "") + more
	}
	return text
}
