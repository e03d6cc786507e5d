// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"regexp"
	"strings"

	"github.com/kinformer/cache/internal/decode/scan"
)

// NoListError reports that a body is no list. It wraps scan.ErrGiveUp. Came says what it is instead, as far as it is known: the
// kind of an object, with an article.
type NoListError struct{ Came string }

func (e *NoListError) Error() string { return "the answer is " + e.Came }

// Unwrap returns [scan.ErrGiveUp].
func (*NoListError) Unwrap() error { return scan.ErrGiveUp }

// NoList returns the error for an object of a kind that is not the expected list.
func NoList(kind string) *NoListError {
	switch {
	case !kinds.MatchString(kind):
		return &NoListError{"an object without a kind that is known"}
	case strings.ContainsAny(kind[:1], "AEIOU"):
		return &NoListError{"an " + kind}
	default:
		return &NoListError{"a " + kind}
	}
}

// kinds matches kinds that are safe to show. They need no quotation marks, which errors about answers lose.
var kinds = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

// About is the kind and the resourceVersion of a list. They are empty if it has none.
type About struct{ Kind, Version string }
