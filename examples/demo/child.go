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
	"os/signal"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

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

// report is what a child tells of itself, as a line of JSON.
type report struct {
	At    time.Duration // since the informer was started
	CPU   time.Duration // that the process has used since
	Heap  uint64        // bytes that were in use after the last collection
	Lag   percentiles   // since the last report
	Total percentiles   // since the start
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

// followAndReport writes a report each second, and the last one when in ends.
func followAndReport(o options, library string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	w, err := openWorld(ctx, o, newScreen(os.Stderr))
	if err != nil {
		return err
	}
	used, err := cputime.Used()
	if err != nil {
		return err
	}
	begin := time.Now()
	f := follow(context.WithoutCancel(ctx), w, newInformer(library))
	defer f.stop()
	encoder := json.NewEncoder(out)
	for more := true; more; {
		more = sleep(ctx, linePeriod)
		now, failed := cputime.Used()
		err = errors.Join(err, failed)
		r := report{At: time.Since(begin), CPU: now - used, Lag: f.lags.take(), Total: f.lags.total()}
		if !more {
			runtime.GC() // not counted, and the same for both
		}
		r.Heap = liveHeap()
		err = errors.Join(err, encoder.Encode(r))
	}
	runtime.KeepAlive(f)
	return err
}

// liveHeap returns how many bytes were in use after the last garbage collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
