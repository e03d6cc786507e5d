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

// childVariable is the environment variable with the config of a child, as JSON. The demo itself
// runs without this variable.
const childVariable = "KINFORMER_DEMO_CHILD"

// config selects the informers of a child.
type config struct {
	Side        int
	Kubeconfig  string
	ContentType string
}

// command is a line that is sent to a child.
type command struct {
	Current []string // wait until the caches have these versions
	Collect bool     // collect garbage
	Read    bool     // start reading a pod repeatedly
}

// report is a child's answer.
type report struct {
	At      time.Time     // the end of the command
	CPU     time.Duration // CPU time of the process until then
	Longest time.Duration // the longest Get since the command Read
	Heap    uint64        // live bytes after the last collection
}

// childMain is the main function of a child.
func childMain(encoded string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the parent also receives them, and ends the child
	quiet()
	var c config
	err := json.Unmarshal([]byte(encoded), &c)
	if err == nil {
		err = c.serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo, child process:", err)
		return 1
	}
	return 0
}

// serve runs the informers, and executes the commands of in until in is closed.
func (c config) serve(in io.Reader, out io.Writer) error {
	client, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	client.ContentType = c.ContentType
	f, err := follow(context.Background(), client, c.Side)
	if err != nil {
		return err
	}
	for answers, commands := json.NewEncoder(out), json.NewDecoder(in); ; {
		var do command
		if err := commands.Decode(&do); err != nil {
			return nil // the parent has ended
		}
		r, err := f.do(do)
		if err = errors.Join(err, answers.Encode(r)); err != nil {
			return err
		}
	}
}

// do waits until the informers have synced, and executes a command.
func (f *follower) do(c command) (r report, err error) {
	err = f.synced()
	if c.Collect {
		runtime.GC()
		runtime.GC() // frees objects that only weak pointers referred to
	}
	if c.Read {
		go f.read()
	}
	if c.Current != nil && err == nil {
		err = f.current(c.Current)
	}
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	used, err2 := cputime.Used()
	return report{time.Now(), used, time.Duration(f.longest.Load()), heap[0].Value.Uint64()}, errors.Join(err, err2)
}

// child is a process with the informers of a side.
type child struct {
	process  *exec.Cmd
	commands *json.Encoder
	answers  *json.Decoder
}

// startChild starts a child, which is killed when ctx ends.
func startChild(ctx context.Context, c config) (*child, error) {
	encoded, err := json.Marshal(c)
	program, err2 := os.Executable()
	p := exec.CommandContext(ctx, program)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+string(encoded)), os.Stderr
	in, err3 := p.StdinPipe()
	out, err4 := p.StdoutPipe()
	if err = errors.Join(err, err2, err3, err4); err == nil {
		err = p.Start()
	}
	return &child{p, json.NewEncoder(in), json.NewDecoder(out)}, err
}

// ask sends a command to the child and returns the report.
func (c *child) ask(do command) (r report, err error) {
	if err = errors.Join(c.commands.Encode(do), c.answers.Decode(&r)); err != nil {
		err = fmt.Errorf("a process has ended: %w", err) // the process has printed the reason
	}
	return r, err
}
