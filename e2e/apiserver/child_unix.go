// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package apiserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// detachFromTerminal keeps Ctrl-C from the child: its parent decides when the
// child ends.
func detachFromTerminal(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (c *child) Pause() error  { return c.signal(syscall.SIGSTOP) }
func (c *child) Resume() error { return c.signal(syscall.SIGCONT) }

func (c *child) signal(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%v to the child: %w", sig, err)
	}
	return nil
}
