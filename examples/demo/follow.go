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
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/cputime"
)

// The libraries whose informers are compared.
const ours, theirs = "kinformer", "client-go"

// follower is an informer of all pods, with what the screen shows of it.
type follower struct {
	informer cache.SharedIndexInformer
	stop     func() // ends the informer and waits for it

	events atomic.Int64 // changes that the handler was told of, after the initial list
	mu     sync.Mutex
	lags   []time.Duration // how long after their writes the handler has heard of changes
}

// follow starts an informer of a library.
func follow(ctx context.Context, config *rest.Config, library string) (*follower, error) {
	config.QPS = -1
	config.Wrap(direct.Transport) // informers of kinformer decode themselves; for others it changes nothing
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	newInformer := cache.NewSharedIndexInformer
	if library == theirs {
		newInformer = clientgo.NewSharedIndexInformer
	}
	source := clientgo.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.Everything())
	f := &follower{informer: newInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	if _, err := f.informer.AddEventHandler(f.handler()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.informer.RunWithContext(ctx)
	}()
	f.stop = func() { cancel(); <-done }
	return f, nil
}

// handler hears of changes. After an outage it may be given objects that are as they were before:
// those are none.
func (f *follower) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				f.heard(obj.(*corev1.Pod))
			}
		},
		UpdateFunc: func(old, obj any) {
			if old.(*corev1.Pod).ResourceVersion != obj.(*corev1.Pod).ResourceVersion {
				f.heard(obj.(*corev1.Pod))
			}
		},
		DeleteFunc: func(any) { f.events.Add(1) },
	}
}

// heard counts a change, and how long ago its pod was written.
func (f *follower) heard(pod *corev1.Pod) {
	f.events.Add(1)
	nanos, err := strconv.ParseInt(pod.Annotations[writtenAt], 10, 64)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lags = append(f.lags, time.Since(time.Unix(0, nanos)))
}

// lag returns the lag of half, and of 99 %, of the changes, in milliseconds.
func (f *follower) lag() (half, most float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lags) == 0 {
		return 0, 0
	}
	slices.Sort(f.lags)
	at := func(percent int) float64 { return f.lags[(len(f.lags)-1)*percent/100].Seconds() * 1000 }
	return at(50), at(99)
}

// status is what the informer says of itself.
func (f *follower) status() inspect.Status {
	s, err := inspect.StatusOf(f.informer)
	if err != nil {
		panic(err) // it is one of ours
	}
	return s
}

// childVariable tells a process that it is a child of the demo's, with an informer of which
// library. Its argument is a kubeconfig file.
const childVariable = "KINFORMER_DEMO_CHILD"

// childMain is the main of a child: it follows the pods until its input ends.
func childMain(library string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // they are for the parent, which ends the input
	quiet()
	if err := followAndReport(library, os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", library, err)
		return 1
	}
	return 0
}

// followAndReport writes a line when in ends.
func followAndReport(library, kubeconfig string, in io.Reader, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	f, err := follow(context.Background(), config, library)
	if err != nil {
		return err
	}
	defer f.stop()
	_, _ = io.Copy(io.Discard, in)
	used, err := cputime.Used()
	runtime.GC() // not counted, and the same for both
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	half, most := f.lag()
	fmt.Fprintf(out, "  %-9s  CPU %.2f s, live heap %.1f MB, lag %.1f/%.1f ms\n",
		library, used.Seconds(), float64(heap[0].Value.Uint64())/1e6, half, most)
	return err
}

// rival is a child process with an informer of one library, beside that of the other: on the same
// pods, with the same client and handler.
type rival struct {
	*exec.Cmd
	input io.Closer
}

// startRivals starts a child for each library. They end when the demo does.
func startRivals(kubeconfig string, out io.Writer) (rivals []rival, err error) {
	program, err := os.Executable()
	for _, library := range []string{ours, theirs} {
		r := rival{Cmd: exec.Command(program, kubeconfig)}
		r.Env, r.Stdout, r.Stderr = append(os.Environ(), childVariable+"="+library), out, out
		if err == nil {
			r.input, err = r.StdinPipe()
		}
		if err == nil {
			err = r.Start()
		}
		if err != nil {
			return rivals, fmt.Errorf("start a process with %s: %w", library, err)
		}
		rivals = append(rivals, r)
	}
	return rivals, nil
}

// finish ends the rivals, which say how they did.
func finish(rivals []rival, out io.Writer) (err error) {
	fmt.Fprintln(out, "beside each other, each in a process of its own, with the same client, handler and events; lag of half, and of 99 %, of the changes:")
	for _, r := range rivals {
		err = errors.Join(err, r.input.Close(), r.Wait())
	}
	return err
}
