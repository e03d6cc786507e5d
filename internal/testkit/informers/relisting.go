// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

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
