// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informers has what tests of informers need that package testkit, which the tests inside of
// package cache use, cannot have: the public packages beside it.
package informers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// Versions returns the versions of pods by key.
func Versions[T any](pods []T) map[string]string {
	versions := map[string]string{}
	for _, obj := range pods {
		pod := any(obj).(*v1.Pod)
		versions[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	}
	return versions
}

// Handle adds a handler to an informer.
func Handle(t *testing.T, informer cache.SharedInformer, handler cache.ResourceEventHandler) {
	t.Helper()
	_, err := informer.AddEventHandler(handler)
	require.NoError(t, err)
}

// Quiet is a server whose list has the pods, and whose watch says nothing.
func Quiet(pods ...*v1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// Inspected is what an inspection says once all is done that can be.
func Inspected(t *testing.T, informer cache.Controller) inspect.Inspection {
	t.Helper()
	synctest.Wait()
	all, err := inspect.Of(informer)
	require.NoError(t, err)
	require.Len(t, Causes(all.Status), len(Texts(all.Status)))
	return all
}

// Status is the status once all is done that can be.
func Status(t *testing.T, informer cache.Controller) inspect.Status {
	synctest.Wait()
	s, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	return s
}

// On runs an informer on a scripted server in a bubble until the returned function is called.
func On(t *testing.T, server *testkit.Server, setUp func(cache.SharedIndexInformer), options kinformer.Options) (s cache.SharedIndexInformer, stop func()) {
	s = kinformer.Constructor(options)(server, &v1.Pod{}, time.Minute, cache.Indexers{})
	setUp(s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.RunWithContext(ctx); close(done) }()
	synctest.Wait()
	return s, func() { cancel(); <-done }
}

// Verbose is a context whose logger writes up to that verbosity.
func Verbose(t *testing.T, verbosity int) (context.Context, *testkit.Logged) {
	lines := &testkit.Logged{}
	return klog.NewContext(t.Context(), funcr.New(lines.Write, funcr.Options{Verbosity: verbosity})), lines
}

// ListsThen makes a list function that fails with the errors in turn and then answers list.
func ListsThen(list runtime.Object, errs ...error) func(int, context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		if n <= len(errs) {
			return nil, errs[n-1]
		}
		return list, nil
	}
}

// Of makes an informer of server with the options and a backoff of a second.
func Of(server *testkit.Server, options kinformer.Options) cache.SharedIndexInformer {
	if options.Requests.Backoff == (wait.Backoff{}) {
		options.Requests.Backoff = *testkit.Second()
	}
	return kinformer.New(server, &v1.Pod{}, options)
}

// OnServers gives an informer servers that no other test has lost.
func OnServers(servers *reflector.Servers, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	door.Of(informer).Configure(func(c *door.Config) { c.Requests.Servers = servers })
	return informer
}

// Run runs informer until the returned function is called, which waits for the end.
func Run(t *testing.T, informer cache.Controller) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Texts and Causes return the problems of a status.
func Texts(status inspect.Status) (texts []string) {
	for _, problem := range status.Problems {
		texts = append(texts, problem.Text)
	}
	return texts
}

func Causes(status inspect.Status) (causes []string) {
	for _, problem := range status.Problems {
		causes = append(causes, problem.Cause)
	}
	return causes
}

// relistVerbs are the ways to the whole state.
var relistVerbs = map[cachetest.Verb]kinformer.ListMode{
	cachetest.VerbList: kinformer.ListModeList, cachetest.VerbWatchList: kinformer.ListModeWatchList,
}

// Relisting is an informer that is asked to relist.
type Relisting struct {
	*cachetest.Source
	cache.SharedIndexInformer
	Recorder cachetest.Recorder
	Verb     cachetest.Verb
}

// InRelisting runs do with an informer of the pods a, b and c, which has synced, for each way to
// the whole state.
func InRelisting(t *testing.T, do func(*testing.T, *Relisting), options kinformer.Options) {
	for verb, mode := range relistVerbs {
		t.Run(string(verb), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Relisting{Source: cachetest.Of(testkit.Pod("a", "1"), testkit.Pod("b", "1"), testkit.Pod("c", "1")), Verb: verb}
				options.Requests.Mode = mode
				r.SharedIndexInformer = kinformer.New(r.Source, &v1.Pod{}, options)
				Handle(t, r, &r.Recorder)
				defer Run(t, r)()
				r.Calm()
				r.Recorder.Take()
				do(t, r)
			})
		})
	}
}

// Calm waits until everything that follows from what was done has happened.
func (r *Relisting) Calm() {
	synctest.Wait()
	time.Sleep(time.Minute) // longer than any pause
	synctest.Wait()
}

// Asked returns how many requests for the whole state there were.
func (r *Relisting) Asked() (n int) {
	for _, request := range r.Requests() {
		if request.Verb == r.Verb {
			n++
		}
	}
	return n
}

// Held returns what the store has, by name.
func (r *Relisting) Held() map[string]*v1.Pod {
	held := map[string]*v1.Pod{}
	for _, object := range r.GetStore().List() {
		pod := object.(*v1.Pod)
		held[pod.Name] = pod
	}
	return held
}
