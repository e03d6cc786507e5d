// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// TestStateIsReadBeforeTheBegin checks that the state may be read before the source exists.
func TestStateIsReadBeforeTheBegin(t *testing.T) {
	for _, wanted := range []tap.State{{Shares: true}, {Unshared: "a transform function"}} {
		ledger := &tap.Ledger{}
		var reading sync.WaitGroup
		reading.Go(func() { ledger.State() })
		tap.New(&clientgo.ListWatch{}, &v1.Pod{}, tap.Options{Ledger: ledger, Share: wanted.Shares, Unshared: wanted.Unshared})
		reading.Wait()
		assert.Equal(t, wanted, ledger.State())
	}
}

// recording is an engine that records calls.
type recording struct {
	clientgo.ListerWatcherWithContext
	calls []string
}

func (r *recording) Begin() (end func()) {
	r.calls = append(r.calls, "begin")
	return func() { r.calls = append(r.calls, "end") }
}

func (r *recording) Check(parts bool) {
	if parts {
		r.calls = append(r.calls, "check")
	}
}

func (r *recording) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	r.calls = append(r.calls, "list")
	return nil, nil
}

func (r *recording) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	r.calls = append(r.calls, "watch")
	return nil, nil
}

// pods returns a ListerWatcher without pods.
func pods() *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &v1.PodList{}, nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
}

// request lists and watches once.
func request(t *testing.T, s *tap.Source) {
	t.Helper()
	_, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = s.WatchWithContext(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
}

// TestEngineIsAskedForAtEachRequest: an informer that ran before the engine was installed uses it from its next
// request on, as one that was made afterwards does.
func TestEngineIsAskedForAtEachRequest(t *testing.T) {
	t.Cleanup(tap.Uninstall)
	ledger, engine := &tap.Ledger{}, &recording{}
	early := tap.New(pods(), &v1.Pod{}, tap.Options{Ledger: ledger})
	end := early.Begin()
	early.Check(true)
	request(t, early)
	assert.Equal(t, tap.State{Why: "package direct is not imported", Reason: "no-transport"}, ledger.State())

	tap.Install(tap.Installation{Engine: func(clientgo.ListerWatcherWithContext, any, tap.Options) tap.Engine { return engine }})
	request(t, early)
	end()
	assert.Equal(t, []string{"check", "begin", "list", "watch", "end"}, engine.calls)

	engine.calls = nil
	late := tap.New(pods(), &v1.Pod{}, tap.Options{})
	end = late.Begin()
	late.Check(true)
	request(t, late)
	end()
	assert.Equal(t, []string{"begin", "check", "list", "watch", "end"}, engine.calls)
	end = late.Begin()
	end()
	assert.Equal(t, []string{"begin", "end"}, engine.calls[5:], "it runs again")
}

// TestWithoutEngine: a program that does not import package direct is told so where it has asked for
// direct decoding, and else where it asks why the client decodes.
func TestWithoutEngine(t *testing.T) {
	for name, c := range map[string]struct {
		options tap.Options
		state   tap.State
	}{
		"nothing is wanted": {state: tap.State{Why: "package direct is not imported", Reason: tap.NoTransport}},
		"off":               {options: tap.Options{Off: true}, state: tap.State{Why: "Decoding.Off says so", Reason: tap.SwitchedOff}},
		"shared parts": {
			options: tap.Options{Share: true},
			state: tap.State{Why: "package direct is not imported", Reason: tap.NoTransport, Shares: true,
				Unshared: "package direct is not imported"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Ledger = &tap.Ledger{}
			source := tap.New(pods(), &v1.Pod{}, c.options)
			if c.options.Off {
				assert.Equal(t, c.state, c.options.Ledger.State(), "before the first request")
			}
			request(t, source)
			assert.Equal(t, c.state, c.options.Ledger.State())
		})
	}
	request(t, tap.New(pods(), &v1.Pod{}, tap.Options{SkipUndecodable: true, Off: true}))
	ledger := &tap.Ledger{}
	s := tap.New(pods(), &v1.Pod{}, tap.Options{SkipUndecodable: true, Ledger: ledger})
	const needs = "Errors.SkipUndecodable: package direct is not imported: import it"
	_, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, needs)
	_, err = s.WatchWithContext(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, needs)
	assert.Equal(t, tap.State{Why: "package direct is not imported", Reason: tap.NoTransport, Skips: true}, ledger.State())
}

// TestFailureWithoutEngine: a request that fails says nothing about decoding.
func TestFailureWithoutEngine(t *testing.T) {
	failed, ledger := errors.New("refused"), &tap.Ledger{}
	lists := &clientgo.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, failed }}
	_, err := tap.New(lists, &v1.Pod{}, tap.Options{Ledger: ledger}).ListWithContext(t.Context(), metav1.ListOptions{})
	assert.Equal(t, failed, err)
	assert.Equal(t, tap.State{}, ledger.State())
}
