// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// TestReflectorModel lets a server do legal things in any order to an informer: writes, bookmarks,
// closed and broken streams, errors of every kind, pages, duplicates, old versions, forgotten
// history. Whatever that was, in the end
//
//   - the store is what the server has,
//   - the handler was told, step by step, how it came to that: no addition of what it knew, no
//     change of what it did not (a deletion that the server sends twice reaches handlers twice, as
//     in client-go),
//   - every version that was asked for is one that the server gave before.
//
// A failure shrinks to the shortest way there.
func TestReflectorModel(t *testing.T) {
	testkit.Reports(t)
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(anyStep(), 0, 40).Draw(r, "steps")
		source := cachetest.Options{
			Example: &v1.Pod{}, NewList: func() runtime.Object { return &v1.PodList{} },
			WatchList: rapid.SampledFrom([]cachetest.WatchListMode{
				cachetest.WatchListServed, cachetest.WatchListServed, cachetest.WatchListUnsupported, cachetest.WatchListRefused, cachetest.WatchListIgnored,
			}).Draw(r, "watch-list"),
			NoWatchCache: rapid.Bool().Draw(r, "no watch cache"),
			FailAtStart:  rapid.Bool().Draw(r, "fail at start"),
		}
		pageSize := rapid.Int64Range(0, 3).Draw(r, "page size")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = playModel(t, source, pageSize, steps) })
		if len(faults) > 0 {
			r.Fatal(faults)
		}
	})
}

// modelStep is something that the server does. Names and versions are drawn small, so that they
// meet.
type modelStep struct {
	what string
	name string
	err  string
	verb cachetest.Verb
}

func anyStep() *rapid.Generator[modelStep] {
	return rapid.Custom(func(r *rapid.T) modelStep {
		return modelStep{
			what: rapid.SampledFrom([]string{
				"put", "put", "put", "put", "delete", "delete", "tick", "bookmark", "cut", "break", "compact", "resend", "fail", "fail", "cut short",
				"error", "garbage", "forget", "pause", "pass",
			}).Draw(r, "what"),
			name: rapid.StringMatching("[a-e]").Draw(r, "name"),
			err:  rapid.SampledFrom([]string{"429", "410", "500", "refused", "403", "404", "timeout"}).Draw(r, "error"),
			verb: rapid.SampledFrom([]cachetest.Verb{cachetest.VerbList, cachetest.VerbWatch, cachetest.VerbWatchList}).Draw(r, "verb"),
		}
	})
}

// playModel performs the steps and returns what is wrong in the end.
func playModel(t *testing.T, options cachetest.Options, pageSize int64, steps []modelStep) []string {
	server := &modelServer{Source: cachetest.NewSource(options)}
	server.mu.given = map[string]bool{"": true, "0": true}
	informer := cache.InformerFunc(cache.WithBackoff(*testkit.Second()), cache.WithPageSize(pageSize))(server, &v1.Pod{}, 0, cache.Indexers{})
	view := &modelHandler{known: map[string]string{}}
	_, err := informer.AddEventHandler(view)
	require.NoError(t, err)
	stop := running(t, informer)
	for i, s := range steps {
		server.perform(t, i, s)
		if s.what != "pause" {
			synctest.Wait()
		}
	}
	// Old events may have left the store with old objects; a list that is needed sets that right.
	server.forget()
	time.Sleep(5 * time.Minute) // faults that are queued are used up, one a second, or two minutes of silence each
	synctest.Wait()

	faults := append(server.faults(), view.faults()...)
	status, err := cache.StatusOf(informer)
	require.NoError(t, err)
	if stored := versionsOf(informer.GetStore().List()); !maps.Equal(stored, server.Versions()) {
		faults = append(faults, fmt.Sprintf("the store has %v, the server %v, %v", stored, server.Versions(), status))
	}
	if !maps.Equal(view.known, server.Versions()) {
		faults = append(faults, fmt.Sprintf("the handler knows %v, the server has %v", view.known, server.Versions()))
	}
	stop()
	return faults
}

func versionsOf(objects []any) map[string]string {
	versions := make(map[string]string, len(objects))
	for _, obj := range objects {
		pod := obj.(*v1.Pod)
		versions[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	}
	return versions
}

// modelServer keeps what it has given and what it was asked for beyond that.
type modelServer struct {
	*cachetest.Source

	mu struct {
		sync.Mutex
		given map[string]bool
		wrong []string
	}
}

func (s *modelServer) perform(t *testing.T, i int, do modelStep) {
	switch do.what {
	case "put":
		pod := testkit.PodAt(do.name, "")
		pod.Labels = map[string]string{"step": strconv.Itoa(i)}
		s.Put(pod)
	case "delete":
		if s.Get("ns", do.name) != nil {
			s.Delete("ns", do.name)
		}
	case "tick":
		s.Tick()
	case "bookmark":
		s.Bookmark()
	case "cut":
		s.Cut()
	case "break":
		s.Break()
	case "compact":
		s.Compact(s.ResourceVersion())
	case "resend":
		if pod, ok := s.Get("ns", do.name).(*v1.Pod); ok {
			s.resend(pod.ResourceVersion)
		}
	case "fail":
		s.FailNext(do.verb, testkit.FailureNamed(t, do.err))
	case "cut short":
		s.Script(do.verb, cachetest.Fault{Stream: cachetest.StreamScript{Cut: true, CutAfter: i % 3}})
	case "error":
		s.Inject(cachetest.ErrorEvent(testkit.FailureNamed(t, do.err)))
	case "garbage":
		s.Inject(cachetest.Garbage(testkit.PodAt("garbage", "1"))...)
	case "forget":
		s.forget()
	case "pass":
		time.Sleep(time.Duration(i%7) * 700 * time.Millisecond)
	case "pause": // the next step follows at once
	}
}

// resend sends the write again, and an older one, unless they were compacted, at which
// Source.Resend panics.
func (s *modelServer) resend(version string) {
	defer func() { _ = recover() }()
	rv, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	s.Resend(rv)
	s.Resend(rv - 1)
}

// forget makes every client list again: it finds the history gone, and itself behind.
func (s *modelServer) forget() {
	heal := s.Partition()
	s.Put(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "z", Labels: map[string]string{"at": strconv.FormatUint(s.ResourceVersion(), 10)}}})
	s.Compact(s.ResourceVersion())
	heal()
}

func (s *modelServer) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.asked("list", o)
	list, err := s.Source.ListWithContext(ctx, o)
	if accessor, e := meta.ListAccessor(list); err == nil && e == nil {
		s.gave(accessor.GetResourceVersion())
	}
	return list, err
}

func (s *modelServer) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.asked("watch", o)
	w, err := s.Source.WatchWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if accessor, err := meta.Accessor(event.Object); err == nil {
			s.gave(accessor.GetResourceVersion())
		}
		return event, true
	}), nil
}

func (s *modelServer) gave(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.given[version] = true
}

func (s *modelServer) asked(what string, o metav1.ListOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.given[o.ResourceVersion] {
		s.mu.wrong = append(s.mu.wrong, fmt.Sprintf("%s at %q, which the server never gave", what, o.ResourceVersion))
	}
}

func (s *modelServer) faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.wrong
}

// modelHandler is a copy of the state made of notifications alone.
type modelHandler struct {
	mu    sync.Mutex
	known map[string]string
	wrong []string
}

func (h *modelHandler) OnAdd(obj any, _ bool) { h.hear("add", nil, obj) }

func (h *modelHandler) OnUpdate(old, next any) { h.hear("update", old, next) }

func (h *modelHandler) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	h.hear("delete", obj, nil)
}

func (h *modelHandler) hear(what string, old, next any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	subject := next
	if subject == nil {
		subject = old
	}
	pod := subject.(*v1.Pod)
	key := pod.Namespace + "/" + pod.Name
	known, isKnown := h.known[key]
	switch {
	case isKnown == (what == "add") && what != "delete":
		h.wrong = append(h.wrong, fmt.Sprintf("%s %s, known: %v", what, testkit.NameAt(subject), isKnown))
	case what == "update" && known != old.(*v1.Pod).ResourceVersion:
		h.wrong = append(h.wrong, fmt.Sprintf("update of %s from %s, which was at %s", key, testkit.NameAt(old), known))
	}
	if next == nil {
		delete(h.known, key)
	} else {
		h.known[key] = pod.ResourceVersion
	}
}

func (h *modelHandler) faults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}
