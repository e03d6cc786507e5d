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

// StartChild starts a server in a child process and returns once it serves,
// about a second after the call. If there is no binary yet, it builds one
// first, which takes minutes the first time; see Options.Binary and Build. ctx
// bounds the build and the start, not the life of the server.
func StartChild(ctx context.Context, opts Options) (*Server, error) {
	return Start(ctx, opts, launchChild)
}

// child is an Instance in a process of its own.
type child struct {
	cmd *exec.Cmd
	// stdin is held open for the life of the child, which ends when it closes.
	stdin io.Closer
	ep    Endpoint

	// asked is set before we end the child ourselves, so that its exit is no
	// surprise.
	asked atomic.Bool
	// paused is set from Pause to Resume.
	paused atomic.Bool
	done   chan struct{}
	err    error // set before done is closed
}

func launchChild(ctx context.Context, opts Options) (Instance, error) {
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
	fmt.Fprintf(opts.Log, "apiserver: child process %d runs %s\n", c.PID(), binary)
	select {
	case c.ep = <-ready:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("child ended before it served: %w%s", c.exit(), tail(logPath))
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("child did not serve in time: %w%s", ctx.Err(), tail(logPath)), c.Kill())
	}
}

func childArgs(o Options) []string {
	return []string{
		"-data-dir=" + o.DataDir,
		"-port=" + strconv.Itoa(o.Port),
		"-disable-watch-cache=" + strconv.FormatBool(o.DisableWatchCache),
		"-max-requests-in-flight=" + strconv.Itoa(o.MaxRequestsInFlight),
		"-max-mutating-requests-in-flight=" + strconv.Itoa(o.MaxMutatingRequestsInFlight),
		"-storage-media-type=" + o.StorageMediaType,
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

func (c *child) Endpoint() Endpoint    { return c.ep }
func (c *child) PID() int              { return c.cmd.Process.Pid }
func (c *child) Done() <-chan struct{} { return c.done }

// Stop closes the child's standard input, which asks it to end on every
// platform.
func (c *child) Stop(ctx context.Context) error {
	c.asked.Store(true)
	closeErr := c.closeStdin()
	select {
	case <-c.done: // it ended before, perhaps by Kill: nothing to stop
		return nil
	default:
	}
	if err := c.Resume(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, c.Kill())
	}
	select {
	case <-c.done:
		return errors.Join(closeErr, c.Err())
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("child killed because it did not stop in time: %w", ctx.Err()), c.Kill())
	}
}

func (c *child) Kill() error {
	c.asked.Store(true)
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

func (c *child) Err() error {
	select {
	case <-c.done:
	default:
		return nil
	}
	if c.err == nil && !c.asked.Load() {
		return errors.New("the child ended by itself")
	}
	return c.err
}

func (c *child) exit() error {
	if err := c.Err(); err != nil {
		return err
	}
	return errors.New("no error reported")
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
