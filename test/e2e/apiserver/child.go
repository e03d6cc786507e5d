// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// child is the process of a server. It writes its Endpoint to its standard output, and a Compacted for
// each line of its standard input.
type child struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser       // closing it ends the child
	answers  chan json.RawMessage // buffered, for answers to calls that returned early
	calls    sync.Mutex
	endpoint Endpoint

	frozen atomic.Bool // set between freeze and thaw
	done   chan struct{}
	err    error // set before done is closed
}

// launch starts a child and returns once it serves.
func launch(ctx context.Context, o Options) (*child, error) {
	binary, err := findBinary(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &child{done: make(chan struct{}), answers: make(chan json.RawMessage, 8)}
	c.cmd = exec.Command(binary, "-data-dir="+o.DataDir, "-port="+strconv.Itoa(o.Port),
		"-disable-watch-cache="+strconv.FormatBool(o.DisableWatchCache), "-rbac="+strconv.FormatBool(o.RBAC), "-feature-gates="+o.FeatureGates, "-json")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C does not reach it: the parent decides when it ends
	log, err := os.OpenFile(filepath.Join(o.DataDir, "apiserver.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own copy
	c.cmd.Stderr = log
	stdout, err := c.cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	go c.listen(stdout)
	if err := c.answer(ctx, &c.endpoint); err != nil {
		return nil, errors.Join(fmt.Errorf("child did not serve: %w%s", err, tail(log.Name())), c.kill())
	}
	return c, nil
}

// listen forwards answers until the child ends.
func (c *child) listen(stdout io.Reader) {
	for decoder := json.NewDecoder(stdout); ; {
		var answer json.RawMessage
		if decoder.Decode(&answer) != nil {
			c.err = c.cmd.Wait()
			close(c.done)
			return
		}
		c.answers <- answer
	}
}

func (c *child) answer(ctx context.Context, to any) error {
	select {
	case answer := <-c.answers:
		return json.Unmarshal(answer, to)
	case <-c.done:
		return fmt.Errorf("it has ended: %w", c.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compact makes the child compact etcd.
func (c *child) compact(ctx context.Context) (int64, error) {
	c.calls.Lock()
	defer c.calls.Unlock()
	var result Compacted
	_, err := io.WriteString(c.stdin, "compact\n")
	if err == nil {
		err = c.answer(ctx, &result)
	}
	if err == nil && result.Error != "" {
		err = errors.New(result.Error)
	}
	if err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	return result.Revision, nil
}

// stop ends the child gracefully. It returns nil if the child has ended already.
func (c *child) stop(ctx context.Context) error {
	_ = c.stdin.Close() // stdin may be closed already
	select {
	case <-c.done:
		return nil
	default:
	}
	if err := c.thaw(); err != nil {
		return errors.Join(err, c.kill())
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("child killed because it did not stop in time: %w", ctx.Err()), c.kill())
	}
}

func (c *child) kill() error {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill of the child: %w", err)
	}
	<-c.done
	return nil
}

// tail returns the last lines of a log.
func tail(path string) string {
	content, _ := os.ReadFile(path) // an error leaves the tail empty
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return "\nlast lines of " + path + ":\n\t" + strings.Join(lines[max(0, len(lines)-15):], "\n\t")
}

// building serializes the builds of one process.
var building sync.Mutex

// findBinary returns the binary named by o or by BinaryEnv. Otherwise it builds one, without the race
// detector, which takes minutes the first time.
func findBinary(ctx context.Context, o Options) (string, error) {
	for _, path := range []string{o.Binary, os.Getenv(BinaryEnv)} {
		if path != "" {
			_, err := os.Stat(path)
			return path, err
		}
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(folder, "kinformer", "kinformer-apiserver")
	fmt.Fprintf(os.Stderr, "building %s (the first build takes minutes)\n", path)
	if out, err := exec.CommandContext(ctx, "go", "build", "-race=false", "-o", path, "github.com/kinformer/cache/test/e2e/cmd/apiserver").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of the API server: %w\n%s\nin a module of your own, go install github.com/kinformer/cache/test/e2e/cmd/apiserver "+
			"at the version of e2e in your go.mod, and name the binary in Options.Binary or %s", err, out, BinaryEnv)
	}
	return path, nil
}

// freeze returns once no thread of the child runs, on systems with /proc. On a busy machine a signal
// takes a while to reach all threads.
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

// running reports whether a thread of the child is neither stopped nor ended. Without /proc it returns
// false.
func (c *child) running() bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.cmd.Process.Pid)) // the pattern is valid
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		_, state, found := bytes.Cut(stat, []byte(") ")) // the process name ends here and contains no ") "
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
