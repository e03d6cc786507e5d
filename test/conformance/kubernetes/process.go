// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// errEnded is the error of a process that ended unexpectedly.
var errEnded = errors.New("has ended")

// program is a process with its predecessors, and their total usage.
type program struct {
	path string
	args []string
	env  []string // in addition to that of this process
	log  string   // the file to which all its processes append
	port int      // where it serves metrics

	command *exec.Cmd
	ended   chan struct{}   // closed when the process has ended
	before  cputime.Process // usage of the processes that have ended
}

func (p *program) name() string { return filepath.Base(p.path) }

// start starts the program. The process is killed when ctx ends.
func (p *program) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.command = exec.CommandContext(ctx, p.path, p.args...)
	p.command.Env = append(os.Environ(), p.env...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	command, ended := p.command, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		command.Wait() // its result is in ProcessState
		log.Close()
	}()
	return nil
}

// kill kills the process with SIGKILL, waits for its end, and adds its usage to before.
func (p *program) kill() error {
	last, err := p.use()
	if err != nil {
		return err
	}
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	<-p.ended
	p.before = last
	return nil
}

// check returns an error if the process has ended unexpectedly.
func (p *program) check() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s %w (%v): see the end of %s", p.path, errEnded, p.command.ProcessState, p.log)
	default:
		return nil
	}
}

// use returns the usage of the program: the CPU time of all its processes, the memory of the last one,
// and the greatest peak.
func (p *program) use() (u cputime.Process, err error) {
	if err := p.check(); err != nil {
		return u, err
	}
	u, err = cputime.Of(p.command.Process.Pid)
	u.CPU += p.before.CPU
	u.Peak = max(u.Peak, p.before.Peak)
	return u, err
}

// goroutines returns the number of goroutines from the program's metrics.
func (p *program) goroutines(ctx context.Context) (float64, error) {
	address := fmt.Sprintf("https://127.0.0.1:%d", p.port)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		return 0, err
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	_, behind, found := strings.Cut(string(text), "\ngo_goroutines ")
	if !found {
		return 0, fmt.Errorf("%s/metrics has no go_goroutines", address)
	}
	value, _, _ := strings.Cut(behind, "\n")
	return strconv.ParseFloat(value, 64)
}
