// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// detachFromTerminal keeps Ctrl-C from the child: its parent decides when the
// child ends.
func detachFromTerminal(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// freeze returns when no thread of the child runs any more, where the system shows that: on a busy
// machine a signal takes a while to get to all of them.
func (c *child) freeze() error {
	c.frozen.Store(true)
	err := c.signal(syscall.SIGSTOP)
	for err == nil && c.frozen.Load() && c.running() {
		time.Sleep(time.Millisecond)
	}
	return err
}

func (c *child) thaw() error {
	c.frozen.Store(false)
	return c.signal(syscall.SIGCONT)
}

// running reports whether a thread of the child is neither stopped nor at its end, as far as the
// system tells.
func (c *child) running() bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.cmd.Process.Pid)) // the pattern is right
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		_, state, found := bytes.Cut(stat, []byte(") ")) // after the name, in which there is no such thing
		if err == nil && found && len(state) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(state[0])) {
			return true
		}
	}
	return false
}

func (c *child) signal(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%v to the child: %w", sig, err)
	}
	return nil
}
