// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
)

// keyless is an object without metadata.
func keyless() runtime.Object { return &metav1.Status{Message: testkit.Secret} }

// failing is a key function, or a store, that has no key for anything.
func failing(obj any) (string, error) {
	return "", cache.KeyError{Obj: obj, Err: errors.New("no key today")}
}

// keylessStore is a store of the user's that refuses everything.
type keylessStore struct{ cache.ReflectorStore }

func (keylessStore) Replace([]any, string) error { return nil }

func (keylessStore) Add(obj any) error { _, err := failing(obj); return err }

func (keylessStore) Resync() error { return cache.KeyError{Obj: keyless(), Err: io.EOF} }

// TestObjectsStayOutOfLogs: wherever an object without a key turns up, in a list, a stream or a
// watch, in a store or a process function, what is logged and reported, and what statuses say,
// names its type at most.
func TestObjectsStayOutOfLogs(t *testing.T) {
	for name, run := range mayTellObjects() {
		t.Run(name, func(t *testing.T) {
			var lines testkit.Logged
			t.Cleanup(klog.CaptureState().Restore)
			klog.SetLogger(funcr.New(lines.Write, funcr.Options{Verbosity: 4}))
			reported := testkit.Reports(t)
			said := run(t)
			texts := append(reported(), lines.Take()...)
			for _, err := range said {
				texts = append(texts, fmt.Sprint(err))
			}
			assert.Regexp(t, "object of type|no key", strings.Join(texts, "\n"), "something was said about it")
			for _, text := range texts {
				assert.NotContains(t, text, testkit.Secret)
			}
		})
	}
}

// followed runs an informer for some seconds, and returns what errors and status say.
func followed(t *testing.T, informer cache.Controller) (said []error) {
	synctest.Test(t, func(t *testing.T) {
		stop := running(t, informer)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		status, err := cache.StatusOf(informer)
		require.NoError(t, err)
		stats, ok := cache.QueueStatsOf(informer)
		require.True(t, ok)
		stop()
		said = append(said, status.LastError, stats.LastProcessError, stats.LastTransformError, errors.New(status.String()))
	})
	return said
}

// keepsNothing runs a reflector for some seconds on a store that refuses everything.
func keepsNothing(t *testing.T, server *testkit.Server) []error {
	synctest.Test(t, func(t *testing.T) {
		stop := testkit.InBackground(t, reflector.New(reflector.Options{ListerWatcher: server, Sink: reflector.Foreign(keylessStore{}), ResyncPeriod: time.Second}).Run)
		time.Sleep(3 * time.Second)
		stop()
	})
	return nil
}

// mayTellObjects are ways in which a secret object fails.
func mayTellObjects() map[string]func(t *testing.T) []error {
	items := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{{Object: keyless()}}}
	hidden := testkit.PodAt("a", "6")
	hidden.Labels = map[string]string{"password": testkit.Secret}
	event := watch.Event{Type: watch.Added, Object: hidden}
	server := func() *testkit.Server {
		return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", hidden)), OnWatch: testkit.Watches(testkit.Sent(event))}
	}
	processed := func(t *testing.T, process cache.ProcessFunc) []error {
		return followed(t, cache.New(&cache.Config{Queue: cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true}), ListerWatcher: server(), Process: process}))
	}
	return map[string]func(t *testing.T) []error{
		"list": func(t *testing.T) []error {
			return followed(t, cache.NewSharedIndexInformer(&testkit.Server{NoStream: true, OnList: testkit.ListOf(items), OnWatch: testkit.Watches()}, nil, 0, cache.Indexers{}))
		},
		"transform": func(t *testing.T) []error {
			informer := informerOf(server(), cache.WithCachedOnTransformError())
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) { _, err := failing(obj); return nil, err }))
			return followed(t, informer)
		},
		"index": func(t *testing.T) []error {
			informer := informerOf(server())
			require.NoError(t, informer.AddIndexers(cache.Indexers{"i": func(obj any) ([]string, error) { _, err := failing(obj); return nil, err }}))
			return followed(t, informer)
		},
		"process": func(t *testing.T) []error {
			return processed(t, func(obj any, _ bool) error { _, err := failing(obj); return fmt.Errorf("process: %w", err) })
		},
		"retried": func(t *testing.T) []error {
			return processed(t, cache.RetryProcess(cache.RetryPolicy{MaxAttempts: 1}, func(obj any, _ bool) error { _, err := failing(obj); return err }))
		},
		"foreign store": func(t *testing.T) []error {
			return keepsNothing(t, &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(testkit.Sent(event))})
		},
		"foreign store, stream": func(t *testing.T) []error {
			return keepsNothing(t, &testkit.Server{OnWatch: testkit.Watches(testkit.Sent(event, testkit.EndMark("7")))})
		},
	}
}
