// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package examples tests the built example programs. The programs run with the kubeconfig of one
// shared embedded API server.
package examples

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

// patience bounds every wait. No wait takes nearly as long, even on a busy machine.
const patience = 5 * time.Minute

// programs are the examples that connect to a server, by their folders.
var programs = []string{"controller", "controllerruntime", "dynamic", "coalesce",
	"direct", "sharing", "partial", "audit", "observability", "namespaces", "sharded"}

// stage holds the state that all tests share.
var stage struct {
	server   *apiserver.Server
	binaries string // the folder with the built programs
}

func TestMain(m *testing.M) {
	code, err := setUpAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// setUpAndRun builds the programs while the server starts, and runs the tests.
func setUpAndRun(m *testing.M) (code int, err error) {
	if stage.binaries, err = os.MkdirTemp("", "kinformer-examples-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(stage.binaries)
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error { return build(ctx) })
	group.Go(func() (err error) {
		stage.server, err = apiserver.StartChild(ctx, apiserver.Options{})
		return err
	})
	err = group.Wait()
	if stage.server != nil {
		defer stage.server.Stop(context.Background())
	}
	if err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build builds the programs, without the race detector, because the build cache has most of their
// imports from the build of the server.
func build(ctx context.Context) error {
	args := []string{"build", "-o", stage.binaries + string(filepath.Separator), "-ldflags=-s -w"}
	for _, program := range programs {
		args = append(args, "./"+program)
	}
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the examples: %w\n%s", err, out)
	}
	return nil
}

// process is a running example.
type process struct {
	t      *testing.T
	ctx    context.Context
	cmd    *exec.Cmd
	lines  chan string
	said   []string // lines that were read
	stderr bytes.Buffer
}

// start runs a program on the shared server. The program is killed when the test ends.
func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	return startAnywhere(t, program, append([]string{"-kubeconfig", stage.server.Kubeconfig()}, args...)...)
}

func startAnywhere(t *testing.T, program string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p := &process{t: t, ctx: ctx, lines: make(chan string, 1000)}
	p.cmd = exec.CommandContext(ctx, filepath.Join(stage.binaries, program), args...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

// await returns the result of FindStringSubmatch for the next line that matches.
func (p *process) await(pattern string) []string {
	p.t.Helper()
	expression := regexp.MustCompile(pattern)
	for line := range p.lines {
		p.said = append(p.said, line)
		if found := expression.FindStringSubmatch(line); found != nil {
			return found
		}
	}
	p.t.Fatalf("%s did not say %q (context: %v) but:\n%s\n%v\n%s",
		p.cmd.Path, pattern, p.ctx.Err(), strings.Join(p.said, "\n"), p.cmd.Wait(), p.stderr.String())
	return nil
}

// awaitInAnyOrder waits until each pattern has matched a line of its own: the lines may come from
// goroutines of the program whose order is not given.
func (p *process) awaitInAnyOrder(patterns ...string) {
	p.t.Helper()
	for len(patterns) > 0 {
		found := p.await(strings.Join(patterns, "|"))
		patterns = slices.DeleteFunc(patterns, func(pattern string) bool {
			return regexp.MustCompile(pattern).MatchString(found[0])
		})
	}
}

// end waits until the program exits, and returns its whole output and its error.
func (p *process) end() ([]string, error) {
	for line := range p.lines {
		p.said = append(p.said, line)
	}
	if err := p.cmd.Wait(); err != nil {
		return p.said, fmt.Errorf("%w: %s", err, p.stderr.String())
	}
	return p.said, nil
}

// interrupt interrupts the program, as Ctrl-C does, and fails the test unless the program exits with 0.
func (p *process) interrupt() []string {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	said, err := p.end()
	require.NoError(p.t, err)
	return said
}
