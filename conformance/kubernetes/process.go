// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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
	ended   chan struct{} // closed when the process has ended
	before  usage         // usage of the processes that have ended
}

// usage is the CPU time of a program so far, and its memory.
type usage struct {
	cpu       time.Duration
	rss, peak int64 // bytes
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
	p.before = usage{cpu: last.cpu, peak: last.peak}
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

// use returns the usage of the program.
func (p *program) use() (u usage, err error) {
	if err := p.check(); err != nil {
		return u, err
	}
	const tick = time.Second / 100          // in user space, on all systems
	const inUser, inSystem = 14 - 3, 15 - 3 // proc(5), where the field after the name has the number 3
	proc := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return u, err
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return u, err
	}
	_, behind, _ := strings.Cut(string(stat), ") ")
	for _, field := range []int{inUser, inSystem} {
		u.cpu += time.Duration(number(strings.Fields(behind)[field])) * tick
	}
	u.cpu += p.before.cpu
	u.rss = kibibytes(string(status), "VmRSS:")
	u.peak = max(kibibytes(string(status), "VmHWM:"), p.before.peak)
	return u, nil
}

func kibibytes(status, name string) int64 {
	_, behind, _ := strings.Cut(status, name)
	fields := strings.Fields(behind)
	if len(fields) == 0 {
		return 0 // the process has just ended
	}
	return number(fields[0]) << 10
}

func number(text string) int64 {
	n, _ := strconv.ParseFloat(text, 64)
	return int64(n)
}

// goroutines returns the number of goroutines from the program's metrics.
func (p *program) goroutines(ctx context.Context) (int64, error) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", p.port), nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	_, behind, found := strings.Cut(string(text), "\ngo_goroutines ")
	if err == nil && !found {
		err = fmt.Errorf("%s: %s has no go_goroutines", response.Status, request.URL)
	}
	value, _, _ := strings.Cut(behind, "\n")
	return number(value), err
}
