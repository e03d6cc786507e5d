// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// child is one run of a server, in a process of its own.
type child struct {
	cmd *exec.Cmd
	// stdin is held open for the life of the child, which ends when it closes.
	stdin io.Closer
	ep    Endpoint

	// paused is set from pause to resume.
	paused atomic.Bool
	done   chan struct{}
	err    error // set before done is closed
}

// launch starts a child and returns once it serves. ctx bounds the start only.
func launch(ctx context.Context, opts Options) (*child, error) {
	binary, err := findBinary(ctx, opts)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(binary, childArgs(opts)...), done: make(chan struct{})}
	detachFromTerminal(c.cmd)
	logPath := filepath.Join(opts.DataDir, "apiserver.log")
	ready, err := c.start(logPath, opts.Log)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(opts.Log, "apiserver: child process %d runs %s\n", c.cmd.Process.Pid, binary)
	select {
	case c.ep = <-ready:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("child ended before it served: %v%s", c.err, tail(logPath))
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("child did not serve in time: %w%s", ctx.Err(), tail(logPath)), c.kill())
	}
}

func childArgs(o Options) []string {
	return []string{
		"-data-dir=" + o.DataDir,
		"-port=" + strconv.Itoa(o.Port),
		"-disable-watch-cache=" + strconv.FormatBool(o.DisableWatchCache),
		"-max-requests-in-flight=" + strconv.Itoa(o.MaxRequestsInFlight),
	}
}

// start runs the process. Its standard error goes to logPath, its standard
// output to log, except the READY line, which is sent on the returned channel.
func (c *child) start(logPath string, log io.Writer) (<-chan Endpoint, error) {
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the child: %w", err)
	}
	defer logFile.Close() // the child has its own copy
	c.cmd.Stderr = logFile
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	c.stdin = stdin
	ready := make(chan Endpoint, 1)
	go func() {
		defer close(c.done)
		readErr := relay(stdout, log, ready)
		c.err = errors.Join(readErr, c.cmd.Wait())
	}()
	return ready, nil
}

// relay copies lines from r to log until r ends and sends the endpoint of the
// READY line, of which there is at most one, on ready.
func relay(r io.Reader, log io.Writer, ready chan<- Endpoint) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		ep, isReady, err := parseReady(lines.Bytes())
		switch {
		case err != nil:
			return err
		case isReady:
			ready <- ep
		default:
			fmt.Fprintf(log, "%s\n", lines.Bytes())
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("output of the child: %w", err)
	}
	return nil
}

// stop closes the child's standard input, which asks it to end on every
// platform.
func (c *child) stop(ctx context.Context) error {
	closeErr := c.closeStdin()
	select {
	case <-c.done: // it ended before, perhaps by kill: nothing to stop
		return nil
	default:
	}
	if err := c.resume(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, c.kill())
	}
	select {
	case <-c.done:
		return errors.Join(closeErr, c.err)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("child killed because it did not stop in time: %w", ctx.Err()), c.kill())
	}
}

func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill of the child: %w", err)
	}
	<-c.done
	return c.closeStdin()
}

func (c *child) closeStdin() error {
	if err := c.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("standard input of the child: %w", err)
	}
	return nil
}

// tail returns the end of the file as indented lines for an error message, or
// nothing if there is none.
func tail(path string) string {
	const lines = 15
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	return fmt.Sprintf("\nlast lines of %s:\n\t%s", path, strings.Join(all, "\n\t"))
}
