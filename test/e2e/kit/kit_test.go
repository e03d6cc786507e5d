// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kit_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// patience bounds every wait. It is far longer than any wait takes.
const patience = 10 * time.Minute

// pod returns a pod of the history. An empty round means no label.
func pod(name, app, round string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: "node-" + name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if round != "" {
		p.Labels["round"] = round
	}
	return p
}

func create(name, app string) func(*side) error {
	return func(s *side) error { _, err := s.create(pod(name, app, "")); return err }
}

func update(name, app, round string) func(*side) error {
	return func(s *side) error { _, err := s.update(pod(name, app, round)); return err }
}

func remove(name string) func(*side) error {
	return func(s *side) error { return s.remove(name) }
}

// past is the history before the checks: v1 to v8.
var past = []func(*side) error{
	create("a", "x"), create("b", "y"), update("a", "y", ""), remove("b"),
	create("c", "x"), update("a", "y", ""), update("a", "x", ""), create("d", "x"),
}

// future is the history while the watches are open, from v9. Every watch of a check with a last object
// receives the last event of that object.
var future = []func(*side) error{
	create("e", "x"), update("e", "y", ""), update("e", "y", ""), remove("e"), update("a", "x", "last"), update("c", "y", "last"),
}

// lastStep returns the number of the last step about the named object.
func lastStep(name string) int {
	return len(past) + len(future) - map[string]int{"a": 1}[name]
}

// check is one request, sent to either side.
type check struct {
	name    string
	options metav1.ListOptions
	last    string // the object whose last event ends the watch, "" if no event does
}

// silent reports whether a watch delivers no event.
func (c check) silent() bool {
	return c.last == "" && (c.options.SendInitialEvents == nil || !c.options.AllowWatchBookmarks)
}

// different lists the intended differences of a Source. Package cachetest documents them.
var different = map[string]string{
	"write: create at a version":         "writers pay no attention to the version of what they are given",
	"write: update at an old version":    "writers pay no attention to the version of what they are given",
	"write: create from generateName":    "names are the test's",
	"write: update with another UID":     "a UID of the test's own is taken: so an object is replaced behind a client's back",
	"write: remove what has a finalizer": "deletions are at once",
}

// both sends the same requests to both sides concurrently and reports differing answers.
type both struct {
	real, kit *side
	same      int
}

func (b *both) compare(t *testing.T, name string, real, kit []string) {
	t.Helper()
	switch same, reason := slices.Equal(real, kit), different[name]; {
	case same && reason != "":
		t.Errorf("%s: no difference any more: %s", name, real)
		return
	case same:
		b.same++
		return
	case reason != "":
		t.Logf("differs: %s: %s", name, reason)
		return
	}
	t.Errorf("%s\n real %s\n kit  %s", name, strings.Join(real, "\n      "), strings.Join(kit, "\n      "))
}

// ask runs f concurrently for both sides and each check.
func ask[T any](b *both, checks []check, f func(*side, check) T) (real, kit []T) {
	answers := make([][]T, 2)
	var group sync.WaitGroup
	for i, s := range []*side{b.real, b.kit} {
		answers[i] = make([]T, len(checks))
		for j, c := range checks {
			group.Go(func() { answers[i][j] = f(s, c) })
		}
	}
	group.Wait()
	return answers[0], answers[1]
}

// start starts both sides, with or without a watch cache, and applies past.
func start(t *testing.T, cached bool) (*both, *apiserver.Server, *cachetest.Source) {
	t.Helper()
	_, srv := follow.StartServer(t, apiserver.Options{DisableWatchCache: !cached})
	real, err := realSide(t.Context(), srv)
	require.NoError(t, err)
	src := newSource(cached)
	b := &both{real: real, kit: kitSide(src)}
	for _, s := range []*side{b.real, b.kit} {
		s.note(t)
		s.do(t, past...)
	}
	return b, srv, src
}

// TestKitAnswersAsTheServer sends the same requests to the server and to a Source, each with and without a
// watch cache.
func TestKitAnswersAsTheServer(t *testing.T) {
	for _, cached := range []bool{true, false} {
		t.Run(fmt.Sprint("watch cache ", cached), func(t *testing.T) {
			b, srv, src := start(t, cached)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			compareWatches := func() {}
			if cached {
				compareWatches = b.watches(t, ctx)
			}
			b.lists(t, ctx)
			b.pages(t, ctx)
			compareWatches()
			if cached {
				b.ahead(t, ctx)
			}
			b.expired(t, ctx, func(s *side) {
				if s == b.kit {
					src.Compact(src.ResourceVersion())
					src.Tick() // etcd counts a compaction by the server as a write
					return
				}
				_, err := srv.Compact(ctx)
				require.NoError(t, err)
				if !cached {
					return
				}
				require.NoError(t, srv.Restart(ctx))
				require.Eventually(t, func() bool { // the first request may use a dead connection that the client still considers open
					_, err := s.list(ctx, metav1.ListOptions{})
					return err == nil
				}, patience, 20*time.Millisecond)
			})
			if cached {
				b.writes(t)
			}
			t.Logf("%d requests answered alike", b.same)
		})
	}
}

// lists compares lists with all combinations of options.
func (b *both) lists(t *testing.T, ctx context.Context) {
	checks := slices.Concat(listGrid(), selections(metav1.ListOptions{}), selections(metav1.ListOptions{ResourceVersion: "0"}),
		selections(metav1.ListOptions{ResourceVersion: "v3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}),
		selections(metav1.ListOptions{Limit: 1}))
	real, kit := ask(b, checks, func(s *side, c check) []string {
		line, _ := s.listed(ctx, c.options)
		return []string{line}
	})
	for i, c := range checks {
		b.compare(t, "list "+c.name, real[i], kit[i])
	}
}

func listGrid() (checks []check) {
	for _, rv := range []string{"", "0", "v0", "v3", "v5", "v8", "future", "x", "-1"} {
		for _, match := range []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan, "Other"} {
			for _, limit := range []int64{0, 1, 2, 100, -1} {
				o := metav1.ListOptions{ResourceVersion: rv, ResourceVersionMatch: match, Limit: limit}
				checks = append(checks, check{name: describe(o), options: o})
			}
		}
	}
	yes := true
	for _, o := range []metav1.ListOptions{
		{SendInitialEvents: &yes}, {AllowWatchBookmarks: true}, {Continue: "x"}, {Continue: "x", ResourceVersion: "v3"},
		{Continue: "x", ResourceVersion: "0"}, {Continue: "x", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	} {
		checks = append(checks, check{name: describe(o), options: o})
	}
	return checks
}

// selections combines base with valid and invalid selectors.
func selections(base metav1.ListOptions) (checks []check) {
	for _, s := range []struct{ labels, fields, last string }{
		{labels: "app=x", last: "c"}, {labels: "app!=x", last: "c"}, {labels: "app in (y,z)", last: "c"}, {labels: "!round", last: "c"},
		{labels: "none"}, {labels: "=="}, {labels: "app in x"},
		{fields: "metadata.name=a", last: "a"}, {fields: "metadata.name!=a", last: "c"}, {fields: "metadata.namespace=kit", last: "c"},
		{fields: "metadata.namespace=other"}, {fields: "spec.nodeName=node-c", last: "c"}, {fields: "status.phase=Running"},
		{fields: "metadata.name"}, {fields: "spec.other=x"}, {labels: "app=x", fields: "metadata.name=a", last: "a"},
	} {
		o := base
		o.LabelSelector, o.FieldSelector = s.labels, s.fields
		checks = append(checks, check{name: describe(o), options: o, last: s.last})
	}
	return checks
}

// pages compares the pages of lists while objects change.
func (b *both) pages(t *testing.T, ctx context.Context) {
	for _, base := range []metav1.ListOptions{
		{Limit: 1}, {Limit: 2}, {Limit: 1, ResourceVersion: "v3"}, {Limit: 1, LabelSelector: "app=x"},
		{Limit: 1, ResourceVersion: "v8", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	} {
		follow := func(s *side) (lines []string) {
			line, token := s.listed(ctx, base)
			for lines = append(lines, line); token != "" && len(lines) < 10; lines = append(lines, line) {
				next := base
				next.Continue, next.ResourceVersion, next.ResourceVersionMatch = token, "", ""
				for _, wrong := range []metav1.ListOptions{
					{Continue: token, ResourceVersion: "v8"}, {Continue: token, ResourceVersion: "0"},
					{Continue: token, ResourceVersionMatch: metav1.ResourceVersionMatchExact}, {Continue: token + "x"},
				} {
					refused, _ := s.listed(ctx, wrong)
					lines = append(lines, refused)
				}
				whole, _ := s.listed(ctx, metav1.ListOptions{Continue: token})
				lines = append(lines, whole)
				line, token = s.listed(ctx, next)
			}
			return lines
		}
		b.compare(t, "pages of "+describe(base), follow(b.real), follow(b.kit))
	}
}

// watches opens watches with all combinations of options. The returned function applies future and
// compares the events.
func (b *both) watches(t *testing.T, ctx context.Context) (compare func()) {
	checks := slices.Concat(watchGrid(), selections(metav1.ListOptions{}), selections(metav1.ListOptions{ResourceVersion: "v0"}),
		selections(metav1.ListOptions{SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true}))
	real, kit := ask(b, checks, func(s *side, c check) *stream { return s.opened(ctx, c.options) })
	return func() {
		for _, s := range []*side{b.real, b.kit} {
			s.do(t, future...)
		}
		for i, c := range checks {
			if !c.silent() {
				b.compare(t, "watch "+c.name, b.real.read(ctx, real[i], c.last), b.kit.read(ctx, kit[i], c.last))
			}
		}
		for i, c := range checks {
			if c.silent() {
				b.compare(t, "watch "+c.name, b.real.heard(real[i]), b.kit.heard(kit[i]))
			}
		}
	}
}

func watchGrid() (checks []check) {
	yes, no := true, false
	for _, rv := range []string{"", "0", "v0", "v3", "v5", "v8", "x"} {
		for _, send := range []*bool{nil, &yes, &no} {
			for _, match := range []metav1.ResourceVersionMatch{"", metav1.ResourceVersionMatchNotOlderThan, metav1.ResourceVersionMatchExact} {
				for _, bookmarks := range []bool{false, true} {
					o := metav1.ListOptions{ResourceVersion: rv, SendInitialEvents: send, ResourceVersionMatch: match, AllowWatchBookmarks: bookmarks}
					checks = append(checks, check{name: describe(o), options: o, last: "c"})
				}
			}
		}
	}
	ahead := metav1.ListOptions{ResourceVersion: "future", SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	return append(checks, check{name: describe(ahead), options: ahead, last: "c"}) // the server ends this watch
}

func describe(o metav1.ListOptions) string {
	text := fmt.Sprintf("rv=%q", o.ResourceVersion)
	for name, value := range map[string]string{"match": string(o.ResourceVersionMatch), "labels": o.LabelSelector, "fields": o.FieldSelector, "continue": o.Continue} {
		if value != "" {
			text += " " + name + "=" + value
		}
	}
	if o.Limit != 0 {
		text += fmt.Sprint(" limit=", o.Limit)
	}
	if o.SendInitialEvents != nil {
		text += fmt.Sprint(" initial=", *o.SendInitialEvents)
	}
	if o.AllowWatchBookmarks {
		text += " bookmarks"
	}
	return text
}

// attempts are writes that a server may refuse.
var attempts = []struct {
	name string
	do   func(*side) (*corev1.Pod, error)
}{
	{"create what exists", func(s *side) (*corev1.Pod, error) { return s.create(pod("a", "x", "")) }},
	{"create without a name", func(s *side) (*corev1.Pod, error) { return s.create(pod("", "x", "")) }},
	{"create at a version", func(s *side) (*corev1.Pod, error) {
		p := pod("f", "x", "")
		p.ResourceVersion = "7"
		return s.create(p)
	}},
	{"create from generateName", func(s *side) (*corev1.Pod, error) {
		p := pod("", "x", "")
		p.GenerateName = "g-"
		made, err := s.create(p)
		if err == nil {
			made.Name = ""
		}
		return made, err
	}},
	{"update what is missing", func(s *side) (*corev1.Pod, error) { return s.update(pod("missing", "x", "")) }},
	{"update at an old version", func(s *side) (*corev1.Pod, error) {
		p := pod("a", "x", "old")
		p.ResourceVersion = s.version("v1")
		return s.update(p)
	}},
	{"update with another UID", func(s *side) (*corev1.Pod, error) {
		p := pod("a", "x", "uid")
		p.UID = "another"
		return s.update(p)
	}},
	{"update with another creationTimestamp", func(s *side) (*corev1.Pod, error) {
		p := pod("a", "x", "time")
		p.CreationTimestamp = metav1.Unix(1e9, 0)
		stored, err := s.update(p)
		if err == nil && stored.CreationTimestamp.Equal(&p.CreationTimestamp) {
			stored.Labels["round"] += " taken"
		}
		return stored, err
	}},
	{"remove what is missing", func(s *side) (*corev1.Pod, error) { return nil, s.remove("missing") }},
	{"remove what has a finalizer", func(s *side) (*corev1.Pod, error) {
		p := pod("h", "x", "")
		p.Finalizers = []string{"kinformer.io/test"}
		if _, err := s.create(p); err != nil {
			return nil, err
		}
		if err := s.remove("h"); err != nil {
			return nil, err
		}
		p.Labels["round"] = "after"
		return s.update(p)
	}},
}

// writes compares the results of attempts.
func (b *both) writes(t *testing.T) {
	for _, attempt := range attempts {
		told := func(s *side) []string {
			p, err := attempt.do(s)
			if err != nil {
				return []string{refusal(err)}
			}
			return []string{s.object(p)}
		}
		b.compare(t, "write: "+attempt.name, told(b.real), told(b.kit))
	}
}

// ahead watches from a future version: only later events are delivered.
func (b *both) ahead(t *testing.T, ctx context.Context) {
	told := func(s *side) []string {
		s.note(t)
		start := s.steps[len(s.steps)-1] + 3
		w := s.opened(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatUint(start, 10)})
		require.NotNil(t, w.Interface, w.refused)
		defer w.Stop()
		var want, got []uint64
		for i := 0; len(want) < 3; i++ {
			s.do(t, update("d", "x", strconv.Itoa(i)))
			if rv := s.steps[len(s.steps)-1]; rv > start {
				want = append(want, rv)
			}
		}
		for range want {
			event := <-w.ResultChan()
			rv, err := strconv.ParseUint(event.Object.(*corev1.Pod).ResourceVersion, 10, 64)
			require.NoError(t, err)
			got = append(got, rv)
		}
		return []string{fmt.Sprint("what came after it: ", slices.Equal(want, got))}
	}
	b.compare(t, "watch from a version ahead", told(b.real), told(b.kit))
}

// expired compares the answers of both sides to requests at compacted versions.
func (b *both) expired(t *testing.T, ctx context.Context, forget func(*side)) {
	told := func(s *side) []string {
		_, token := s.listed(ctx, metav1.ListOptions{Limit: 1})
		s.do(t, update("a", "x", "forgotten"))
		forget(s)
		s.note(t)
		var lines []string
		for _, o := range []metav1.ListOptions{
			{ResourceVersion: "v3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, {ResourceVersion: "v3", Limit: 1},
			{ResourceVersion: "v3"}, {ResourceVersion: "0"}, {},
		} {
			line, _ := s.listed(ctx, o)
			lines = append(lines, "list "+describe(o)+": "+line)
		}
		next, newer := s.listed(ctx, metav1.ListOptions{Continue: token})
		lines = append(lines, "list goes on: "+next)
		if newer != "" {
			next, _ = s.listed(ctx, metav1.ListOptions{Continue: newer})
			lines = append(lines, "with the token of the refusal: "+next)
		}
		for _, o := range []metav1.ListOptions{
			{ResourceVersion: "v3"},
			{ResourceVersion: "v3", SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true},
		} {
			lines = append(lines, fmt.Sprint("watch ", describe(o), ": ", s.read(ctx, s.opened(ctx, o), "")))
		}
		return lines
	}
	b.compare(t, "after a compaction", told(b.real), told(b.kit))
}
