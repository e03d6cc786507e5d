// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo compares what informers of client-go and of this library cost, on the pods of an embedded API server.
//
// Three processes follow the same server: with client-go's informers, with informers of this library that decode
// directly, and with such that share equal parts as well. Nothing else runs in them. The demo updates pods,
// has the informers list anew, and kills the server and starts it again. It prints a table of what that took.
// The demo itself has informers, too, which the page of package debug shows. At the end it compares
// their cache of pods with a fresh LIST.
//
// It exits with 0 if that comparison succeeds, and with 1 if it or something else fails. An interrupt makes it
// shorter.
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
	"syscall"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
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
	outage    time.Duration
	keep      bool
}

func main() {
	if told := os.Getenv(childVariable); told != "" {
		os.Exit(childMain(told))
	}
	var o options
	flag.StringVar(&o.apiserver, "apiserver", "", "binary of the embedded API server; empty builds it first, which takes minutes once")
	flag.IntVar(&o.pods, "pods", 5000, "how many pods to create, at least 1")
	flag.DurationVar(&o.duration, "duration", 8*time.Second, "how long to update them, in each of two encodings")
	flag.DurationVar(&o.outage, "outage", 5*time.Second, "how long the server is away")
	flag.BoolVar(&o.keep, "keep", false, "keep the page, and update pods, until an interrupt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run makes the comparison, which ends early if ctx does, and checks the cache of this process either way.
func run(ctx context.Context, o options, out io.Writer) error {
	quiet()
	c, err := startCluster(ctx, o, out)
	if err != nil {
		return err
	}
	defer c.stop()
	page, closePage, err := servePage()
	if err != nil {
		return err
	}
	defer closePage()
	fmt.Fprintf(out, "%s shows informers of this library\n", page)
	// Not with ctx: an interrupt still ends in a check.
	f, err := follow(context.Background(), c.server.ProtobufConfig(), shared, c.pods[0].String())
	if err != nil {
		return err
	}
	defer f.stop()
	compared := &comparison{cluster: c, out: out, figures: map[string][]float64{}, config: config{Kubeconfig: c.server.Kubeconfig(), First: c.pods[0].String()}}
	if err = compared.run(ctx, o); ctx.Err() != nil {
		err = nil // the children end with ctx
	}
	compared.print(fmt.Sprintf("%d pods, %d informers", o.pods, len(f.informers)))
	if err = errors.Join(err, selfCheck(f.informers[0], out)); err == nil {
		keep(ctx, o, c, page, out)
	}
	return err
}

// keep says how to keep the page, or keeps it until ctx ends.
func keep(ctx context.Context, o options, c *cluster, page string, out io.Writer) {
	if !o.keep {
		fmt.Fprintf(out, "make demo DEMO_FLAGS=-keep keeps the page of the informers, %s\n", page)
		return
	}
	fmt.Fprintf(out, "%s shows the informers until an interrupt\n", page)
	stop := c.startChanging(ctx)
	<-ctx.Done()
	stop()
}

// selfCheck has an audit compare the cache with a fresh LIST, object by object. It is tried again
// when the server is not quite back.
func selfCheck(pods cache.SharedIndexInformer, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	report, err := audit.Once(ctx, pods, audit.Options{})
	for err != nil && sleep(ctx, time.Second) {
		report, err = audit.Once(ctx, pods, audit.Options{})
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
func servePage() (page string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
	server, ended := &http.Server{Handler: mux}, make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends with an error in any case
	}()
	return fmt.Sprintf("http://%s/debug/informers/", listener.Addr()), func() { _ = server.Close(); <-ended }, nil
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
