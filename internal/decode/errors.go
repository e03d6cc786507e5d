// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"errors"
	"fmt"
)

// ErrGiveUp is the only error of this package: this decoder is not sure what client-go's would make
// of the data. What was written to the value until then is undefined. The error that wraps it says
// why, without any of the data.
var ErrGiveUp = errors.New("decode: given up")

// unsure is the error of one call.
type unsure struct {
	why string
	at  int // byte of the input
}

func (u *unsure) Error() string { return fmt.Sprintf("%v at byte %d: %s", ErrGiveUp, u.at, u.why) }
func (u *unsure) Unwrap() error { return ErrGiveUp }

// Reason returns why in words, of which there are few.
func (u *unsure) Reason() string { return u.why }
