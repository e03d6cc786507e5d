// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"syscall"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/cputime"
)

// childVariable tells a process that it is a child of the demo's, with an informer of which
// library.
const childVariable = "KINFORMER_DEMO_CHILD"

// libraries are what is compared, each in a child process of its own, so that CPU time and heap can
// be told apart.
var libraries = []string{ours, theirs}

const ours, theirs = "kinformer", "client-go"

// newInformer returns the constructor of a library.
func newInformer(library string) constructor {
	if library == theirs {
		return clientgo.NewSharedIndexInformer
	}
	return cache.NewSharedIndexInformer
}

// childMain is the main of a child: it follows what the flags say until its input ends.
func childMain(library string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // they are for the parent, which ends the input
	quiet()
	o, err := parseFlags(os.Args[1:], os.Stderr)
	if err == nil {
		err = followAndReport(o, library, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", library, err)
		return 1
	}
	return 0
}

// followAndReport writes a line when in ends.
func followAndReport(o options, library string, in io.Reader, out io.Writer) error {
	w, err := openWorld(context.Background(), o, os.Stderr)
	if err != nil {
		return err
	}
	begin, err := cputime.Used()
	if err != nil {
		return err
	}
	f := follow(context.Background(), w, newInformer(library))
	defer f.stop()
	_, _ = io.Copy(io.Discard, in)
	end, err := cputime.Used()
	runtime.GC() // not counted, and the same for both
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	half, most := f.lag()
	fmt.Fprintf(out, "  %-9s  CPU %.2f s, live heap %.1f MB, lag %.1f/%.1f ms\n",
		library, (end - begin).Seconds(), float64(heap[0].Value.Uint64())/1e6, half, most)
	return err
}

// rival is a child process with an informer of one library, beside those of the others: on the same
// resource, with the same client and handler.
type rival struct {
	*exec.Cmd
	input io.Closer
}

// startRivals starts a child for each library. They end when the demo does.
func startRivals(w *world, o options, out io.Writer) (rivals []rival, err error) {
	if !o.compare {
		return nil, nil
	}
	kubeconfig := o.kubeconfig
	if w.server != nil {
		kubeconfig = w.server.Kubeconfig()
	}
	program, err := os.Executable()
	for _, library := range libraries {
		r := rival{Cmd: exec.Command(program, "-kubeconfig", kubeconfig, "-resource", o.resource)}
		r.Env, r.Stdout, r.Stderr = append(os.Environ(), childVariable+"="+library), out, out
		if err == nil {
			r.input, err = r.StdinPipe()
		}
		if err == nil {
			err = r.Start()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start a process with %s: %w", library, err), finish(rivals, out))
		}
		rivals = append(rivals, r)
	}
	return rivals, nil
}

// finish ends the rivals, which say how they did.
func finish(rivals []rival, out io.Writer) (err error) {
	if len(rivals) > 0 {
		fmt.Fprintln(out, "beside each other, each in a process of its own, with the same client, handler and events; lag of half, and of 99 %, of the changes:")
	}
	for _, r := range rivals {
		err = errors.Join(err, r.input.Close(), r.Wait())
	}
	return err
}
