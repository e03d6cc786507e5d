// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
)

// ErrGiveUp is the only error of the decoders: the result of client-go's decoder for the data is
// not certain. The value decoded so far is undefined. The error that wraps ErrGiveUp contains the
// reason, but none of the data.
var ErrGiveUp = errors.New("decode: given up")

// GiveUpError is the error of one call. It wraps ErrGiveUp.
type GiveUpError struct {
	Why string
	At  int // the offset in the input, in bytes
}

func (u *GiveUpError) Error() string { return fmt.Sprintf("%v at byte %d: %s", ErrGiveUp, u.At, u.Why) }

// Unwrap returns [ErrGiveUp].
func (u *GiveUpError) Unwrap() error { return ErrGiveUp }

// Reason returns the reason, one of a fixed set of texts.
func (u *GiveUpError) Reason() string { return u.Why }

// Target returns the place of *into, which must be of type t, the type of a plan.
func Target(into any, t reflect.Type) (mem.Place, error) {
	if v := reflect.ValueOf(into); v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem() == t {
		return mem.Of(v), nil
	}
	return nil, fmt.Errorf("%w: a plan of %v was given a %T", ErrGiveUp, t, into)
}
