// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestMalformedEvents: an invalid event is reported without its content and left out. It neither
// moves the position nor drops the events around it, on a watch and on a watch-list.
func TestMalformedEvents(t *testing.T) {
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hush", ResourceVersion: "99"}}
	kind := untyped("g/v1", "Kind", "", "")
	for name, tc := range map[string]struct {
		expected any
		event    watch.Event
		says     string
	}{
		"no object":               {&v1.Pod{}, watch.Event{Type: watch.Added}, "no object"},
		"no object, any expected": {nil, watch.Event{Type: watch.Added}, "no object"},
		"nil pointer":             {&v1.Pod{}, watch.Event{Type: watch.Modified, Object: (*v1.Pod)(nil)}, "no object"},
		"unknown type":            {&v1.Pod{}, watch.Event{Type: "RENAMED", Object: testkit.PodAt("a", "99")}, "RENAMED"},
		"no type":                 {&v1.Pod{}, watch.Event{Object: testkit.PodAt("a", "99")}, "unknown type"},
		"wrong Go type":           {&v1.Pod{}, watch.Event{Type: watch.Added, Object: service}, "*v1.Service"},
		"status":                  {&v1.Pod{}, watch.Event{Type: watch.Deleted, Object: &metav1.Status{Message: "hush"}}, "*v1.Status"},
		"status, any expected":    {nil, watch.Event{Type: watch.Deleted, Object: &metav1.Status{Message: "hush"}}, "no metadata"},
		"no metadata":             {nil, watch.Event{Type: watch.Added, Object: &runtime.Unknown{Raw: []byte("hush")}}, "no metadata"},
		"list":                    {nil, watch.Event{Type: watch.Added, Object: testkit.PodList("99")}, "no metadata"},
		"wrong kind":              {kind, watch.Event{Type: watch.Added, Object: untyped("g/v1", "Other", "hush", "99")}, "Other"},
		"table":                   {&unstructured.Unstructured{}, watch.Event{Type: watch.Added, Object: untyped("meta.k8s.io/v1", "Table", "", "99")}, "Table"},
		"older table":             {nil, watch.Event{Type: watch.Added, Object: untyped("meta.k8s.io/v1beta1", "Table", "", "99")}, "Table"},
		"untyped status":          {nil, watch.Event{Type: watch.Added, Object: untyped("v1", "Status", "", "99")}, "Status"},
	} {
		t.Run(name, func(t *testing.T) {
			good := func(version string) watch.Event { return wellFormed(tc.expected, version) }
			mark := good("8")
			mark.Type = watch.Bookmark
			mark.Object = mark.Object.DeepCopyObject()
			mark.Object.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
			reported := testkit.Reports(t)
			expect := func(c *Options) {
				c.ExpectedType = tc.expected
				if _, ok := tc.expected.(*unstructured.Unstructured); ok {
					c.ListerWatcher.(*testkit.Server).OnList = testkit.ListOf(untypedList("5", untyped("g/v1", "Kind", "a", "1")))
				}
			}

			got := watchedFor(t, expect, testkit.Sent(good("6"), tc.event))
			assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, got.asked)
			assert.Equal(t, []string{"replace 5: a@1", "update a@6"}, got.stored)
			assert.Equal(t, "6", got.version)
			got = watchedFor(t, expect, testkit.Sent(tc.event, good("7")))
			assert.Equal(t, "7", got.version)
			_, stored := streamed(t, expect, testkit.Sent(good("6"), tc.event, mark))
			assert.Equal(t, []string{"replace 8: a@6"}, stored)

			require.Len(t, reported(), 3)
			for _, text := range reported() {
				assert.Contains(t, text, tc.says)
				assert.NotContains(t, text, "hush")
			}
		})
	}
}

// wellFormed returns an update of the object a, of the expected type.
func wellFormed(expected any, version string) watch.Event {
	if _, ok := expected.(*unstructured.Unstructured); ok {
		return watch.Event{Type: watch.Modified, Object: untyped("g/v1", "Kind", "a", version)}
	}
	return testkit.Modified("a", version)
}

// sizesSink is a sink that records the sizes of its Puts.
type sizesSink struct {
	Sink
	position func() string
	sizes    []int
	before   []string // the reflector's position at the time of the call
}

func (s *sizesSink) Put(changes []event.Record) []event.Refused {
	s.sizes, s.before = append(s.sizes, len(changes)), append(s.before, s.position())
	return s.Sink.Put(changes)
}

// Room returns more than the BatchLimit of a Put.
func (s *sizesSink) Room() (int, <-chan struct{}) { return 10 * event.BatchLimit, nil }

// TestReflectorHandsOverWhatTheChannelHolds: events that wait in the channel are put in one call
// for each BatchLimit of them, and then the position moves.
func TestReflectorHandsOverWhatTheChannelHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = event.BatchLimit*2 + 10
		stream := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: events})
		for i := range events {
			p := testkit.Pod(fmt.Sprint("p", i), "1")
			p.ResourceVersion = fmt.Sprint(i + 1)
			stream.Modify(p)
		}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1")), OnWatch: testkit.Watches(stream)}
		store := &sizesSink{Sink: Foreign(&testkit.StoreLog{})}
		r := New(Options{ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: store})
		store.position = r.state.Version
		defer testkit.InBackground(t, r.Run)()
		synctest.Wait()
		assert.Equal(t, []int{event.BatchLimit, event.BatchLimit, 10}, store.sizes)
		assert.Equal(t, []string{"1", "256", "512"}, store.before)
		assert.Equal(t, fmt.Sprint(events), r.state.Version())
	})
}
