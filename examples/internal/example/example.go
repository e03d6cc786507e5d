// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package example has the common code of the example programs: flags, the connection to a cluster,
// and the exit.
package example

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

// stopTimeout bounds the stop of the embedded server.
const stopTimeout = 10 * time.Second

const kubeconfig = "kubeconfig" // the flag

// options are the flags of all examples.
type options struct {
	kubeconfig string
	apiserver  string
	duration   time.Duration
}

// Main is the main function of an example. Main connects to the cluster of -kubeconfig, or starts the
// embedded API server with a few objects that keep changing, and calls run. The context of run ends
// with an interrupt or after -for. Main exits with 1 if run fails, and with 2 for bad flags.
func Main(run func(ctx context.Context, config *rest.Config) error) {
	var o options
	if flag.Lookup(kubeconfig) == nil { // controller-runtime defines that flag
		flag.String(kubeconfig, "", "kubeconfig file of the cluster; empty starts the embedded API server")
	}
	flag.StringVar(&o.apiserver, "apiserver", "", "binary of the embedded API server, as make apiserver builds it; empty builds it first, which takes minutes once")
	flag.DurationVar(&o.duration, "for", 0, "duration of the run; 0 means until an interrupt, or 10s on the embedded server")
	flag.Parse()
	o.kubeconfig = flag.Lookup(kubeconfig).Value.String()
	name := filepath.Base(os.Args[0])
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: unexpected argument %q\n", name, flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.play(ctx, run)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// play runs the example on its cluster. The end of its time is not an error.
func (o options) play(ctx context.Context, run func(ctx context.Context, config *rest.Config) error) (err error) {
	if o.duration == 0 && o.kubeconfig == "" {
		o.duration = 10 * time.Second
	}
	config, closeCluster, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeCluster()) }()
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	if err := run(ctx, config); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// connect returns the config of the cluster, and a function that releases the cluster.
func (o options) connect(ctx context.Context) (*rest.Config, func() error, error) {
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, nil, fmt.Errorf("kubeconfig: %w", err)
		}
		return config, func() error { return nil }, nil
	}
	server, err := apiserver.StartChild(ctx, apiserver.Options{Binary: o.apiserver})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded API server: %w", err)
	}
	stopServer := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return server.Stop(ctx)
	}
	stopLife, err := startLife(ctx, server)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("embedded API server: %w", err), stopServer())
	}
	fmt.Fprintf(os.Stderr, "kubectl --kubeconfig %s shows what there is\n", server.Kubeconfig())
	return server.Config(), func() error { return errors.Join(stopLife(), stopServer()) }, nil
}
