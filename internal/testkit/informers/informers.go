// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informers has test helpers for informers that use the public packages. Package testkit
// cannot import these, because tests inside of package cache import it.
package informers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

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

// Quiet returns a server that lists the pods, and whose watch has no events.
func Quiet(pods ...*v1.Pod) *testkit.Server {
	return &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5", pods...)), OnWatch: testkit.Watches()}
}

// Inspected returns an inspection of the informer after all goroutines of the bubble have blocked.
func Inspected(t *testing.T, informer cache.Controller) inspect.Inspection {
	t.Helper()
	synctest.Wait()
	all, err := inspect.Of(informer)
	require.NoError(t, err)
	return all
}

// Status returns the status of the informer after all goroutines of the bubble have blocked.
func Status(t *testing.T, informer cache.Controller) inspect.Status {
	synctest.Wait()
	s, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	return s
}

// On runs an informer of a scripted server in a bubble until stop is called.
func On(t *testing.T, server *testkit.Server, setUp func(cache.SharedIndexInformer), options kinformer.Options) (s cache.SharedIndexInformer, stop func()) {
	s = kinformer.Constructor(options)(server, &v1.Pod{}, time.Minute, cache.Indexers{})
	setUp(s)
	stop = Run(t, s)
	synctest.Wait()
	return s, stop
}

// Of returns an informer of server with the options and a backoff of a second.
func Of(server *testkit.Server, options kinformer.Options) cache.SharedIndexInformer {
	if options.Requests.Backoff == (wait.Backoff{}) {
		options.Requests.Backoff = *testkit.Second()
	}
	return kinformer.New(server, &v1.Pod{}, options)
}

// OnServers sets the reflector.Servers of an informer, so that it does not share the record of lost
// servers with other tests.
func OnServers(servers *reflector.Servers, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	door.Of(informer).Configure(func(c *door.Config) { c.Requests.Servers = servers })
	return informer
}

// Run runs informer until stop is called, which waits for the end.
func Run(t *testing.T, informer cache.Controller) (stop func()) {
	return testkit.InBackground(t, informer.RunWithContext)
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

// relistVerbs are the verbs that request the full list, with their modes.
var relistVerbs = map[cachetest.Verb]kinformer.ListMode{
	cachetest.VerbList: kinformer.ListModeList, cachetest.VerbWatchList: kinformer.ListModeWatchList,
}

// Relisting is an informer that a test makes relist.
type Relisting struct {
	*cachetest.Source
	cache.SharedIndexInformer
	Recorder cachetest.Recorder
	Verb     cachetest.Verb
}

// InRelisting runs do with a synced informer of the pods a, b and c, for each verb that requests
// the full list.
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

// Calm waits until all consequences of earlier calls have happened.
func (r *Relisting) Calm() {
	synctest.Wait()
	time.Sleep(time.Minute) // longer than any pause
	synctest.Wait()
}

// Lists returns the number of requests for the full list.
func (r *Relisting) Lists() (n int) {
	for _, request := range r.Requests() {
		if request.Verb == r.Verb {
			n++
		}
	}
	return n
}

// Pods returns the stored pods by name.
func (r *Relisting) Pods() map[string]*v1.Pod {
	held := map[string]*v1.Pod{}
	for _, object := range r.GetStore().List() {
		pod := object.(*v1.Pod)
		held[pod.Name] = pod
	}
	return held
}
