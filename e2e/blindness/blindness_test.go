// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blindness_test stops an API server, starts it again, and measures how soon after its first
// answer sixty informers of a process are fresh, and what they ask of it. All objects that tell them
// so are written when the server is ready, some 150 ms after that answer.
package blindness_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/e2e/apiserver"
	"github.com/kinformer/cache/inspect"
)

const (
	patience   = 5 * time.Minute       // far longer than anything takes
	population = 25                    // objects that an informer has
	probing    = 20 * time.Millisecond // between two requests of the probe
)

// outage is one that a side lives through.
type outage struct {
	side   side
	kill   bool          // the server ends at once, and not when it has ended its answers
	lost   bool          // the server that comes back does not know the version of the informers
	length time.Duration // 0: until all informers, which are ours, have noticed
}

// result is what an outage was like.
type result struct {
	outage
	fleet      *fleet
	asked      *asked          // from the end of the server on
	went, back time.Time       // the server did, and was to
	down       time.Duration   // since it went, until its first answer
	ready      time.Duration   // since its first answer, until all that informers have to hear of was written
	fresh      []time.Duration // since its first answer, in order
	told       []time.Duration // for how long informers were blind, as their status tells, in order
	cpu        time.Duration   // of the server's process, see cpuOf
}

// run has the server go and come back.
func (o outage) run(t *testing.T, ctx context.Context, srv *apiserver.Server, name string) *result {
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	r := &result{outage: o, fleet: startFleet(t, ctx, srv, o.side, name), asked: &asked{}}
	if o.lost { // the next process knows nothing older than this
		_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	o.settle(ctx)
	r.fleet.asked.Store(r.asked)
	r.went = time.Now()
	require.NoError(t, o.stop(srv))
	r.last(t, ctx)
	r.back = time.Now()
	restarted := make(chan error, 1)
	go func() { restarted <- srv.Restart(ctx) }()
	first := firstAnswer(t, ctx, srv)
	require.NoError(t, <-restarted)
	require.NoError(t, each(ctx, client, name, selection.create))
	r.down, r.ready = first.Sub(r.went), time.Since(first)
	cpu := make(chan time.Duration, 1)
	go func() { cpu <- o.cpuOf(t, ctx, srv.PID(), first) }()
	for _, i := range r.fleet.informers {
		select {
		case at := <-i.heard:
			r.fresh = append(r.fresh, at.Sub(first))
		case <-ctx.Done():
			require.NoError(t, context.Cause(ctx), "not fresh")
		}
	}
	slices.Sort(r.fresh)
	r.cpu = <-cpu
	r.look(t, ctx)
	require.NoError(t, each(ctx, client, name, selection.remove))
	return r
}

// stop ends the server.
func (o outage) stop(srv *apiserver.Server) error {
	if o.kill {
		return srv.Kill()
	}
	process, err := os.FindProcess(srv.PID())
	if err == nil {
		err = process.Signal(syscall.SIGTERM)
	}
	if err == nil {
		<-srv.Done()
	}
	return err
}

// last returns when the outage has been long enough.
func (r *result) last(t *testing.T, ctx context.Context) {
	if r.length > 0 {
		pause(ctx, r.length-time.Since(r.went))
		return
	}
	for _, i := range r.fleet.informers {
		until(t, ctx, func() bool { return statusOf(t, i).LastOutageAt.After(r.went) })
	}
}

// look asks the informers, if they are ours, for how long they were blind, and fails for what
// cannot be.
func (r *result) look(t *testing.T, ctx context.Context) {
	if r.side.name == "client-go" {
		return
	}
	for _, i := range r.fleet.informers {
		until(t, ctx, func() bool { return len(statusOf(t, i).Problems) == 0 })
		s := statusOf(t, i)
		assert.True(t, s.LastOutageAt.After(r.went), "%v", s)
		assert.True(t, s.LastOutageAt.Add(s.LastOutage).After(r.back), "%v", s)
		assert.True(t, s.LastOutageAt.Add(s.LastOutage).Before(time.Now()), "%v", s)
		assert.NotZero(t, s.Reconnects)
		r.told = append(r.told, s.LastOutage)
	}
	slices.Sort(r.told)
}

func statusOf(t *testing.T, i informer) inspect.Status {
	s, err := inspect.StatusOf(i.SharedIndexInformer)
	require.NoError(t, err)
	return s
}

// firstAnswer returns when a client of its own has got an object.
func firstAnswer(t *testing.T, ctx context.Context, srv *apiserver.Server) (at time.Time) {
	client, err := rest.HTTPClientFor(srv.Config())
	require.NoError(t, err)
	client.Timeout = time.Second
	defer client.CloseIdleConnections()
	require.NoError(t, wait.PollUntilContextCancel(ctx, probing, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL()+"/api/v1/namespaces/namespace-0/pods/object-0", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil
		}
		defer response.Body.Close()
		at = time.Now()
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode == http.StatusOK && err == nil, nil
	}))
	return at
}

func until(t *testing.T, ctx context.Context, is func() bool) {
	t.Helper()
	require.NoError(t, wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return is(), nil }))
}

// startServer returns a server with objects in each selection.
func startServer(t *testing.T, ctx context.Context) *apiserver.Server {
	srv, err := apiserver.StartChild(ctx, apiserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, srv.Stop(context.Background())) })
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	for i := range population {
		require.NoError(t, each(ctx, client, fmt.Sprintf("object-%d", i), selection.create))
	}
	return srv
}

// TestBack: after an outage each informer goes on from where it was, if the server knows that, and
// else asks once for the whole state. Its status tells of the outage.
func TestBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	srv := startServer(t, ctx)
	for _, lost := range []bool{false, true} {
		t.Run(versions[lost], func(t *testing.T) {
			r := outage{side: sides()[3], lost: lost, kill: lost}.run(t, ctx, srv, fmt.Sprint("mark-", versions[lost]))
			t.Log(r)
			failed := r.asked.refused.Load() + r.asked.vain.Load()
			most := failed / 3 // after three failures in a row an informer asks for the whole state
			if lost {
				most += int64(len(r.fleet.informers))
			}
			assert.LessOrEqual(t, r.asked.states.Load(), most)
			assert.LessOrEqual(t, r.asked.watches.Load(), 2*int64(len(r.fleet.informers))+failed)
		})
	}
}
