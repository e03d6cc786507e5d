// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"

	"github.com/kinformer/cache/internal/decode/scan"
)

// NoListError reports that a body is no list. It wraps scan.ErrGiveUp. Came says what it is instead, as far as it is known: the
// kind of an object, with an article.
type NoListError struct{ Came string }

func (e *NoListError) Error() string { return "the answer is " + e.Came }

// Unwrap returns [scan.ErrGiveUp].
func (*NoListError) Unwrap() error { return scan.ErrGiveUp }

// noList returns the error for an object of a kind that is no list.
func noList(kind string) error {
	const longest = 63
	if kind == "" || len(kind) > longest {
		return &NoListError{"an object without a kind that is known"}
	}
	return &NoListError{fmt.Sprintf("of kind %q", kind)}
}
