// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kinformer/cache/inspect"
)

// Series are the labels of a value. One that comes again in a later Read is the same Series, as
// long as its informer runs.
type Series struct {
	Labels []Label // by name
	// Form is for the caller of Read, who may keep here what it has made of Labels.
	Form any
}

// Label is a label and what it says.
type Label struct{ Name, Value string }

// MaxText is how many bytes of a text become the value of a label.
const MaxText = 128

// Other is the value of a label that sums up what is beyond the bound of Options.
const Other = "other"

// newSeries returns a series of names and values, in turn.
func newSeries(pairs ...string) *Series { return (&Series{}).with(pairs...) }

// LabelsOf returns the labels of an informer that tell what it is about: all but ordinal.
func LabelsOf(i *inspect.Inspection) []Label { return identityOf(i).labels().Labels }

// with returns a series that has more labels.
func (s *Series) with(pairs ...string) *Series {
	labels := make([]Label, 0, len(s.Labels)+len(pairs)/2)
	labels = append(labels, s.Labels...)
	for i := 0; i < len(pairs); i += 2 {
		labels = append(labels, Label{pairs[i], pairs[i+1]})
	}
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return &Series{Labels: labels}
}

// labelText returns what a label may say of a text of the user: its beginning, in valid UTF-8.
func labelText(text string) string {
	const more = "..."
	text = strings.ToValidUTF8(text[:min(len(text), MaxText+1)], "?")
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText-len(more)], "") + more
	}
	return text
}
