// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package apiserver

import (
	"errors"
	"fmt"
	"os/exec"
)

func detachFromTerminal(*exec.Cmd) {}

func (c *child) pause() error  { return fmt.Errorf("pause of the child: %w", errors.ErrUnsupported) }
func (c *child) resume() error { return fmt.Errorf("resume of the child: %w", errors.ErrUnsupported) }
