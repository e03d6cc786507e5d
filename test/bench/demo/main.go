// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo compares the cost of client-go's informers and of this library's, with the pods of a simulated
// API server, or of an embedded one of k8s.io/apiserver and etcd.
//
// Three processes follow the same server: with client-go's informers, with informers of this
// library that decode directly, and with informers that also share equal parts. The
// processes do nothing else. The demo updates pods, and cuts off the server, which comes back without its
// history, so that the informers list again. The table at the end shows the cost. The page of package
// debug shows the informers of the demo itself, whose cache is compared with a fresh LIST.
//
// The demo exits with 0 if the caches are equal and nothing fails, and otherwise with 1. An interrupt
// shortens the demo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/measure"
	"github.com/kinformer/cache/test/bench/internal/serve"
)

// patience bounds the wait for the cache, even on a busy machine.
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
	var o options
	flag.StringVar(&o.apiserver, "apiserver", "", "binary of the embedded API server; empty simulates a server")
	flag.IntVar(&o.pods, "pods", 5000, "number of pods, at least 1")
	flag.DurationVar(&o.duration, "duration", 6*time.Second, "duration of the updates, in each of two encodings")
	flag.DurationVar(&o.outage, "outage", 5*time.Second, "duration of the outage")
	flag.BoolVar(&o.keep, "keep", false, "keep the page, and update pods, until an interrupt")
	flag.Parse()
	child.Main(roles, func(ctx context.Context) error { return run(ctx, o, os.Stdout) })
}

var roles = map[string]child.Role{serve.Role: child.Of(serveSimulated), clientRole: child.Of(serveClient)}

// run runs the comparison, which ends early if ctx ends, and then always checks the cache of this
// process.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.pods < 1 {
		return fmt.Errorf("-pods %d: at least 1 is needed", o.pods)
	}
	quiet()
	c, err := startCluster(ctx, o, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
	server := httptest.NewServer(mux) // on 127.0.0.1
	defer server.Close()
	page := server.URL + "/debug/informers/"
	fmt.Fprintf(out, "%s shows the informers of this process\n", page)
	// Not with ctx: the check runs even after an interrupt.
	config := config{Server: c.endpoint(), Keys: c.keys, Side: shared, MediaType: blank.Protobuf}
	f, err := follow(context.Background(), config)
	if err != nil {
		return err
	}
	defer f.stop()
	compared := &comparison{cluster: c, out: out, figures: map[string][]float64{}, config: config}
	if err = compared.run(ctx, o); ctx.Err() != nil {
		err = nil // the children end with ctx
	}
	compared.print(fmt.Sprintf("%d pods, %d informers", o.pods, len(f.informers)))
	if err = errors.Join(err, selfCheck(f.informers[0], out)); err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintf(out, "%s shows the informers until an interrupt\n", page)
		defer c.startChanging(ctx)()
		<-ctx.Done()
		return nil
	}
	fmt.Fprintf(out, "%s ends with this run; make demo DEMO_FLAGS=-keep keeps it\n", page)
	return nil
}

// selfCheck compares the cache with a fresh LIST by an audit, object by object, and retries while the
// server is not yet available.
func selfCheck(pods cache.SharedIndexInformer, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	report, err := audit.Once(ctx, pods, audit.Options{})
	for err != nil && measure.Pause(ctx, time.Second) == nil {
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

// quiet discards the logs of the library and of client-go, because the demo loses connections on
// purpose.
func quiet() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}
