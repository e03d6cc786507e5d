// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blindness_test stops an API server, starts it again, and measures how soon after its first
// answer sixty informers of a process are up to date, and which requests they send. The objects that
// prove an informer up to date are written when the server is ready, some 150 ms after that answer.
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

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

const (
	patience   = 5 * time.Minute       // bounds every wait, far longer than any takes
	population = 25                    // objects per informer
	probing    = 20 * time.Millisecond // between two requests of the probe
)

// outage is an outage of the server for one side.
type outage struct {
	side   side
	kill   bool          // end the server at once, without finishing responses
	lost   bool          // the restarted server does not know the informers' resourceVersion
	length time.Duration // 0: until all informers, which must be kinformer's, have noticed
}

// result is the result of an outage.
type result struct {
	outage
	fleet      *fleet
	asked      *asked          // since the end of the server
	went, back time.Time       // times of the server's end and of the call to restart it
	down       time.Duration   // from went to the first answer
	fresh      []time.Duration // from the first answer, sorted
	told       []time.Duration // the outages in the informers' statuses, sorted
	cpu        time.Duration   // of the server process, see cpuOf
}

// run stops the server, restarts it and waits until all informers are up to date.
func (o outage) run(t *testing.T, ctx context.Context, srv *apiserver.Server, name string) *result {
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	r := &result{outage: o, fleet: startFleet(t, ctx, srv, o.side, name), asked: &asked{}}
	if o.lost { // makes the informers' version older than the restarted server's history
		_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	if o.length > 0 { // lets a measured fleet run for a while
		pause(ctx, settling)
	}
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
	r.down = first.Sub(r.went)
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

// look records the outages in the statuses of kinformer's informers, and checks their plausibility.
func (r *result) look(t *testing.T, ctx context.Context) {
	if r.side.isTheirs() {
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

// firstAnswer returns the time at which a separate client has received an object.
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
	_, srv := follow.StartServer(t, apiserver.Options{})
	client, err := kubernetes.NewForConfig(srv.ProtobufConfig())
	require.NoError(t, err)
	for i := range population {
		require.NoError(t, each(ctx, client, fmt.Sprintf("object-%d", i), selection.create))
	}
	return srv
}

// TestInformersContinueAfterOutage checks that after an outage each informer continues at its version if the server knows it,
// otherwise requests the full list once, and that its status shows the outage.
func TestInformersContinueAfterOutage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	srv := startServer(t, ctx)
	for _, lost := range []bool{false, true} {
		t.Run(versions[lost], func(t *testing.T) {
			r := outage{side: sides()[3], lost: lost, kill: lost}.run(t, ctx, srv, fmt.Sprint("mark-", versions[lost]))
			t.Log(table([]*result{r}))
			failed := r.asked.refused.Load() + r.asked.vain.Load()
			most := failed / 3 // after three failures in a row an informer requests the full list
			if lost {
				most += int64(len(r.fleet.informers))
			}
			assert.LessOrEqual(t, r.asked.states.Load(), most)
			assert.LessOrEqual(t, r.asked.watches.Load(), 2*int64(len(r.fleet.informers))+failed)
		})
	}
}
