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

// childVariable holds the config of a child, as JSON. A process without it is the demo.
const childVariable = "KINFORMER_DEMO_CHILD"

// config says which informers a child has.
type config struct {
	Side        int
	Kubeconfig  string
	ContentType string
}

// command is a line to a child.
type command struct {
	Current []string // wait until the caches have these versions
	Collect bool     // garbage
	Read    bool     // a pod, again and again from now on
}

// report is a child's answer.
type report struct {
	At      time.Time     // when the command was done
	CPU     time.Duration // of the process until then
	Longest time.Duration // Get since the command Read
	Heap    uint64        // live bytes after the last collection
}

// childMain is the main of a child.
func childMain(told string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the parent gets them, too, and ends the child
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

// serve runs the informers, and follows the commands of in until that ends.
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
			return nil // the parent is through
		}
		r, err := f.do(do)
		if err = errors.Join(err, answers.Encode(r)); err != nil {
			return err
		}
	}
}

// do waits until the informers have synced, and follows a command.
func (f *follower) do(c command) (r report, err error) {
	err = f.synced()
	if c.Collect {
		runtime.GC()
		runtime.GC() // what is weakly held is gone by the second
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

// startChild starts a child. It ends with ctx at the latest.
func startChild(ctx context.Context, c config) (*child, error) {
	told, err := json.Marshal(c)
	program, err2 := os.Executable()
	p := exec.CommandContext(ctx, program)
	p.Env, p.Stderr = append(os.Environ(), childVariable+"="+string(told)), os.Stderr
	in, err3 := p.StdinPipe()
	out, err4 := p.StdoutPipe()
	if err = errors.Join(err, err2, err3, err4); err == nil {
		err = p.Start()
	}
	return &child{p, json.NewEncoder(in), json.NewDecoder(out)}, err
}

// ask has the child do something.
func (c *child) ask(do command) (r report, err error) {
	if err = errors.Join(c.commands.Encode(do), c.answers.Decode(&r)); err != nil {
		err = fmt.Errorf("a process has ended: %w", err) // it has said why
	}
	return r, err
}
