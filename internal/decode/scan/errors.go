// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
)

// ErrGiveUp is the only error of the decoders: they are not sure what client-go's would make of the
// data. What was written to the value until then is undefined. The error that wraps it says why,
// without any of the data.
var ErrGiveUp = errors.New("decode: given up")

// Unsure is the error of one call.
type Unsure struct {
	Why string
	At  int // byte of the input
}

func (u *Unsure) Error() string { return fmt.Sprintf("%v at byte %d: %s", ErrGiveUp, u.At, u.Why) }

// Unwrap returns [ErrGiveUp].
func (u *Unsure) Unwrap() error { return ErrGiveUp }

// Reason returns why in words, of which there are few.
func (u *Unsure) Reason() string { return u.Why }
