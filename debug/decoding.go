// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"strings"

	"github.com/kinformer/cache/inspect"
)

// decodingOf says who decodes.
func decodingOf(i *inspect.Inspection) string {
	s, words := &i.Status, "by the client"
	switch {
	case s.Decoding.On:
		words = "direct, " + s.Decoding.Encoding
	case !s.Synced && s.ResourceVersion == "" && s.Objects == 0 && i.Events == 0:
		words = "nothing received yet"
	case s.Decoding.Transport && s.Decoding.Why != "":
		words += ": " + clean(s.Decoding.Why)
	}
	switch shared := &s.Decoding.Shared; {
	case shared.Why != "":
		words += ", not shared: " + shared.Why
	case shared.On && s.Decoding.On:
		words += ", shares"
	}
	if s.Decoding.Keep != nil {
		words += ", partial"
	}
	return words
}

// keepsOf says what objects have, if not all of their fields.
func keepsOf(d *inspect.Decoding) string {
	if d.Keep == nil {
		return ""
	}
	words := "metadata"
	if len(d.Keep) > 0 {
		words += ", " + strings.Join(d.Keep, ", ")
	}
	if d.Whole != "" {
		words += fmt.Sprintf("; %d whole objects, with labels %s", d.WholeObjects, d.Whole)
	}
	return words
}
