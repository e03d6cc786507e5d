// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package apiserver

import (
	"errors"
	"os/exec"
)

func detachFromTerminal(*exec.Cmd) {}

func (c *child) freeze() error { return errors.ErrUnsupported }
func (c *child) thaw() error   { return nil }
