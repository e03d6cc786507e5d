// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo follows the pods of an embedded API server with an informer, and shows in the terminal what
// the informer does.
//
// It creates a few thousand pods, keeps changing some, kills the server once and starts it again.
// At the end it compares the informer's cache with a fresh LIST. The page of package debug shows
// the informer meanwhile. Two child processes follow the same pods, one with an informer of this
// library and one with client-go's. Nothing else runs in them, so what such a process uses is what
// its informer costs.
//
// It exits with 0 if the comparison succeeds, and with 1 if it or something else fails. An
// interrupt makes it shorter.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/debug"
)

// patience is how long the cache may take to catch up, on a machine that is busy with something
// else, too.
const patience = 5 * time.Minute

// options are the flags.
type options struct {
	apiserver string
	pods      int
	duration  time.Duration
}

func main() {
	if library := os.Getenv(childVariable); library != "" {
		os.Exit(childMain(library))
	}
	var o options
	flag.StringVar(&o.apiserver, "apiserver", "", "binary of the embedded API server; empty builds it first, which takes minutes once")
	flag.IntVar(&o.pods, "pods", 3000, "how many pods to create")
	flag.DurationVar(&o.duration, "duration", 30*time.Second, "how long to follow them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run plays the demo until its time is over or ctx ends, checks the cache either way, and says what
// the informers cost.
func run(ctx context.Context, o options, out io.Writer) error {
	quiet()
	out = &shared{out: out}
	c, err := startCluster(ctx, o, out)
	if err != nil {
		return err
	}
	defer c.stop()
	closePage, err := servePage(out)
	if err != nil {
		return err
	}
	defer closePage()
	rivals, err := startRivals(c.server.Kubeconfig(), out)
	if err == nil {
		err = play(ctx, o, c, out)
	}
	return errors.Join(err, finish(rivals, out))
}

// play follows the pods, disturbs that, and checks the cache in the end.
func play(ctx context.Context, o options, c *cluster, out io.Writer) error {
	// The informer and the check outlive the play, so that an interrupt still ends in a check.
	background := context.WithoutCancel(ctx)
	f, err := follow(background, c.server.Config(), ours)
	if err != nil {
		return err
	}
	defer f.stop()
	stopChanging := c.startChanging(background, o.pods)
	show(ctx, o.duration/2, f, out)
	if ctx.Err() == nil {
		err = c.outage(background, f)
	}
	show(ctx, o.duration/2, f, out)
	stopChanging()
	if err != nil {
		return err
	}
	return selfCheck(background, f, out)
}

// show prints a line a second for a while, or until ctx ends.
func show(ctx context.Context, d time.Duration, f *follower, out io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for before := f.events.Load(); sleep(ctx, time.Second); {
		status, events := f.status(), f.events.Load()
		fmt.Fprintf(out, "%s  objects %d  events/s %d\n", status.Phase, status.Objects, events-before)
		before = events
	}
}

// selfCheck has an audit compare the cache with a fresh LIST, object by object. It is tried again
// when the server is not quite back.
func selfCheck(ctx context.Context, f *follower, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	report, err := audit.Once(ctx, f.informer, audit.Options{})
	for err != nil && sleep(ctx, time.Second) {
		report, err = audit.Once(ctx, f.informer, audit.Options{})
	}
	if err == nil && !report.Equal() {
		err = fmt.Errorf("the cache differs from a fresh LIST: %v", report)
	}
	if err != nil {
		return fmt.Errorf("self-check failed: %w", err)
	}
	fmt.Fprintf(out, "self-check passed: the cache equals a fresh LIST of %d objects\n", report.Digest.Objects)
	return nil
}

// servePage serves the page of the informers of this process, to this machine only, until stop is
// called.
func servePage(out io.Writer) (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
	server, ended := &http.Server{Handler: mux}, make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends with an error in any case
	}()
	fmt.Fprintf(out, "http://%s/debug/informers/ shows the informer while this runs\n", listener.Addr())
	return func() { _ = server.Close(); <-ended }, nil
}

// shared is what the demo and its children write to.
type shared struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// quiet keeps what the library and client-go would log off the screen: lost connections are part of
// the show.
func quiet() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}

// sleep waits for d and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
