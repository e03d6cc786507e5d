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
	Relist  bool     // list the pods anew
	Heap    bool     // collect garbage, and look what is left
}

// report is a child's answer.
type report struct {
	At      time.Time     // when it was done
	CPU     time.Duration // that the process has used until then
	Longest time.Duration // Get, while the pods were listed anew
	Heap    uint64        // that is live, in bytes
	Error   string
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
	ctx := context.Background()
	f, err := follow(ctx, client, c.Side, c.First)
	if err != nil {
		return err
	}
	answers, commands := json.NewEncoder(out), json.NewDecoder(in)
	r, err := report{}, f.synced(ctx)
	for {
		used, failed := cputime.Used()
		r.At, r.CPU = time.Now(), used
		if err = errors.Join(err, failed); err != nil {
			r.Error = err.Error()
		}
		var do command
		if err := answers.Encode(r); err != nil {
			return err
		}
		if err := commands.Decode(&do); err != nil {
			return nil // the parent is through
		}
		r, err = f.do(ctx, do)
	}
}

// do follows a command.
func (f *follower) do(ctx context.Context, c command) (r report, err error) {
	switch {
	case c.Relist:
		r.Longest, err = f.relist(ctx)
	case c.Heap:
		runtime.GC()
		runtime.GC() // what is weakly held is gone by the second
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		r.Heap = heap[0].Value.Uint64()
	default:
		err = f.current(ctx, c.Current)
	}
	return r, err
}

// child is a process with the informers of a side.
type child struct {
	side    string
	process *exec.Cmd
	in      io.Closer
	tell    *json.Encoder
	answers *json.Decoder
}

// startChild starts a child, which ends with ctx, and returns how long it took to sync.
func startChild(ctx context.Context, c config) (*child, time.Duration, error) {
	told, err := json.Marshal(c)
	program, err2 := os.Executable()
	p := exec.CommandContext(ctx, program)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+string(told)), os.Stderr
	in, err3 := p.StdinPipe()
	out, err4 := p.StdoutPipe()
	if err = errors.Join(err, err2, err3, err4); err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if err := p.Start(); err != nil {
		return nil, 0, fmt.Errorf("start a process: %w", err)
	}
	started := &child{side: sides[c.Side], process: p, in: in, tell: json.NewEncoder(in), answers: json.NewDecoder(out)}
	synced, err := started.answer()
	return started, synced.At.Sub(start), err
}

// ask has the child do something.
func (c *child) ask(do command) (report, error) {
	if err := c.tell.Encode(do); err != nil {
		return report{}, fmt.Errorf("%s: %w", c.side, err)
	}
	return c.answer()
}

func (c *child) answer() (r report, err error) {
	err = c.answers.Decode(&r)
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.side, err)
	}
	return r, nil
}

// stop ends the child.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.process.Wait() // it has said what is wrong
}
