// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Demo follows the objects of an API server with an informer, and shows in the terminal what the
// informer does.
//
// By default it starts the embedded API server, creates a few thousand pods, keeps changing some,
// kills the server once and starts it again. At the end it compares the informer's cache with a
// fresh LIST. It ends by itself or, with -keep, when it is interrupted. With -kubeconfig it watches
// another cluster instead, and writes nothing there.
//
// The page of package debug shows the informer meanwhile. Two child processes follow the same
// objects, one with an informer of this library and one with client-go's. Nothing else runs in
// them, so what such a process uses is what its informer costs.
//
// It exits with 0 if the comparison succeeds, 1 if it or something else fails, and 2 for bad flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// options are the flags.
type options struct {
	apiserver  string
	kubeconfig string
	resource   string
	pods       int
	duration   time.Duration
	keep       bool
	compare    bool
}

// errFlags stands for a message that the flag package has printed already.
var errFlags = errors.New("bad flags")

func parseFlags(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.apiserver, "apiserver", "", "binary of the embedded API server; empty builds it first, which takes minutes once")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "follow the cluster of this kubeconfig file instead, and only watch")
	flags.StringVar(&o.resource, "resource", "pods", "what to follow, as resource or resource.group, such as deployments.apps")
	flags.IntVar(&o.pods, "pods", 3000, "how many objects to create on the embedded server")
	flags.DurationVar(&o.duration, "duration", 30*time.Second, "how long to follow them, at least 5s")
	flags.BoolVar(&o.keep, "keep", false, "go on after the check until interrupted")
	flags.BoolVar(&o.compare, "compare", true, "follow the objects in two more processes, with this library and with client-go")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, errFlags
	}
	return o, o.validate(flags.Args())
}

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.duration < 5*time.Second:
		return fmt.Errorf("-duration %s is too short: at least 5s", o.duration)
	case o.pods < 1 || o.pods > 1_000_000:
		return fmt.Errorf("-pods %d is out of range: 1 to 1000000", o.pods)
	case o.resource == "":
		return errors.New("-resource is empty")
	case o.kubeconfig != "" && o.apiserver != "":
		return errors.New("-kubeconfig and -apiserver exclude each other")
	}
	return nil
}

func main() {
	if library := os.Getenv(childVariable); library != "" {
		os.Exit(childMain(library))
	}
	o, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errFlags):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o, newScreen(os.Stdout))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run plays the demo until its time is over or ctx ends, checks the cache either way, and says what
// the informers cost.
func run(ctx context.Context, o options, screen *screen) error {
	quiet()
	world, err := openWorld(ctx, o, screen)
	if err != nil {
		return err
	}
	defer world.close()
	if world.server != nil {
		if err := createObjects(ctx, world, o.pods, screen); err != nil {
			return endOfPlay(ctx, err)
		}
	}
	closePage, err := servePage(screen)
	if err != nil {
		return err
	}
	defer closePage()
	rivals, err := startRivals(world, o, screen)
	if err != nil {
		return err
	}
	err = play(ctx, o, world, rivals, screen)
	return errors.Join(err, finishAll(rivals, screen))
}

// play follows the world, disturbs it, and checks the cache in the end.
func play(ctx context.Context, o options, world *world, rivals []*rival, screen *screen) error {
	// The informer and the check outlive the play, so that an interrupt still ends in a check.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	timed, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	follower := follow(background, world, newInformer(ours))
	defer follower.stop()
	disturbed := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		disturbed <- world.disturb(timed, follower, o.pods, screen)
	}()
	screen.show(done, follower, rivals)
	if err := <-disturbed; err != nil {
		return err
	}
	if ctx.Err() != nil {
		screen.line("interrupted: checking what is cached so far")
	}
	err := selfCheck(background, world, follower, screen)
	if err == nil && o.keep && ctx.Err() == nil {
		keepOn(ctx, world, follower, rivals, o.pods, screen)
	}
	return err
}

// endOfPlay tells an interrupt from a failure.
func endOfPlay(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted before the informer was started")
	}
	return err
}

// quiet keeps what the library and client-go would log off the screen: lost connections are part of
// the show, and the screen counts them.
func quiet() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
}
