// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// childVariable has what a child is told, as JSON. A process without it is the demo.
const childVariable = "KINFORMER_DEMO_CHILD"

// config is what a child is told.
type config struct {
	Side        int
	Kubeconfig  string
	ContentType string
	First       string // the key of the pod that is marked
}

// command is a line to a child.
type command struct {
	Current []string // wait until the caches have these versions
	Collect bool     // garbage
	Read    bool     // a pod, again and again from now on
}

// report is a child's answer.
type report struct {
	At      time.Time     // when it was done
	CPU     time.Duration // that the process has used until then
	Longest time.Duration // Get since it reads
	Heap    uint64        // that was live after the last collection, in bytes
}

// childMain is the main of a child.
func childMain(told string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // they are for the parent, which ends the child
	quiet()
	var c config
	err := json.Unmarshal([]byte(told), &c)
	if err == nil {
		err = c.serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo, child process:", err)
		return 1
	}
	return 0
}

// serve follows the server, says when that has synced, and then does what it is told until in ends.
func (c config) serve(in io.Reader, out io.Writer) error {
	client, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	client.ContentType = c.ContentType
	f, err := follow(context.Background(), client, c.Side, c.First)
	if err != nil {
		return err
	}
	answers, commands := json.NewEncoder(out), json.NewDecoder(in)
	for err = f.synced(); err == nil; err = f.do(commands) {
		r, err := f.report()
		if err = errors.Join(err, answers.Encode(r)); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil // handlers may be behind
	}
	return err
}

// do follows the next command.
func (f *follower) do(commands *json.Decoder) error {
	var c command
	if err := commands.Decode(&c); err != nil {
		return err
	}
	if c.Collect {
		runtime.GC()
		runtime.GC() // what is weakly held is gone by the second
	}
	if c.Read {
		go f.read()
	}
	if c.Current != nil {
		return f.current(c.Current)
	}
	return nil
}

func (f *follower) report() (report, error) {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	used, err := cputime.Used()
	return report{time.Now(), used, time.Duration(f.longest.Load()), heap[0].Value.Uint64()}, err
}

// child is a process with the informers of a side.
type child struct {
	process  *exec.Cmd
	commands *json.Encoder
	answers  *json.Decoder
}

// startChild starts a child, which ends with ctx at the latest, and returns how long it took to sync.
func startChild(ctx context.Context, c config) (started *child, synced time.Duration, err error) {
	told, err := json.Marshal(c)
	program, err2 := os.Executable()
	p := exec.CommandContext(ctx, program)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+string(told)), os.Stderr
	in, err3 := p.StdinPipe()
	out, err4 := p.StdoutPipe()
	start := time.Now()
	if err = errors.Join(err, err2, err3, err4); err == nil {
		err = p.Start()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("start a process: %w", err)
	}
	started = &child{process: p, commands: json.NewEncoder(in), answers: json.NewDecoder(out)}
	r, err := started.answer()
	return started, r.At.Sub(start), err
}

// ask has the child do something.
func (c *child) ask(do command) (report, error) {
	if err := c.commands.Encode(do); err != nil {
		return report{}, err
	}
	return c.answer()
}

func (c *child) answer() (r report, err error) {
	if err = c.answers.Decode(&r); err != nil {
		err = fmt.Errorf("a process has ended: %w", err) // it has said why
	}
	return r, err
}
