// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

type step struct{ What, Name string }

func anyStep(t *draw.T) step {
	return step{
		draw.Of(t,
			"write", "write", "write", "delete", "lose write", "lose write", "lose delete", "make up", "alter", "repeat",
			"hold back", "release", "break", "relist", "bookmark", "audit",
		),
		draw.Of(t, "a", "b", "c", "d", "e"),
	}
}

// world is a server of pods, each version of which has its own label "v", and an informer with a
// manipulated watch.
type world struct {
	*rig
	t       *testing.T
	assert  *assert.Assertions
	mirror  *testkit.Mirror
	writes  int
	release func() // releases held events; nil if there are none
}

// TestModel: after any history of lost, invented, changed, repeated and late events, an audit finds
// exactly the differences of a full comparison, and a relist repairs them and notifies handlers.
func TestModel(t *testing.T) { draw.Check(t, playModel) }

func FuzzModel(f *testing.F) { draw.Fuzz(f, playModel) }

func playModel(d *draw.T) {
	steps := draw.Slice(d, 0, 30, func() step { return anyStep(d) })
	options := kinformer.Options{Requests: kinformer.Requests{Mode: draw.Of(d, kinformer.ListModeList, kinformer.ListModeWatchList)}}
	transform := transforms[draw.Of(d, "none", "blank", "harmless")]
	synctest.Test(d.T, func(t *testing.T) {
		src := cachetest.New(cachetest.Options{Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} }})
		w := &world{t: t, assert: assert.New(t), mirror: testkit.NewMirror()}
		w.rig = follow(t, src, src, transform, options)
		_, err := w.AddEventHandler(w.mirror)
		require.NoError(t, err)
		for _, step := range steps {
			w.play(step)
		}
		w.repaired()
	})
}

func (w *world) play(s step) {
	switch s.What {
	case "write":
		w.write(s.Name)
	case "delete":
		w.remove(s.Name)
	case "lose write":
		defer w.Lose()()
		w.write(s.Name)
	case "lose delete":
		defer w.Lose()()
		w.remove(s.Name)
	case "make up", "alter":
		w.forge(s)
	case "repeat":
		if obj := w.Source.Get("ns", s.Name); obj != nil {
			rv, _ := strconv.ParseUint(obj.(*corev1.Pod).ResourceVersion, 10, 64)
			w.Resend(rv, rv)
		}
	case "hold back":
		if w.release == nil {
			w.release = w.Stall()
		}
	case "release":
		w.letGo()
	case "break":
		w.Break()
	case "relist":
		w.assert.NoError(kinformer.Relist(w))
	case "bookmark":
		w.Bookmark()
	case "audit":
		w.audited()
	}
}

func (w *world) write(name string) {
	w.writes++
	w.Put(testkit.Pod(name, fmt.Sprint(w.writes)))
}

func (w *world) remove(name string) {
	if w.Source.Get("ns", name) != nil {
		w.Source.Delete("ns", name)
	}
}

// forge sends an event for a pod that does not exist, or with another content under its version.
func (w *world) forge(s step) {
	pod := testkit.Pod(s.Name, "made up")
	pod.UID, pod.ResourceVersion = "made up", fmt.Sprint(w.ResourceVersion())
	if obj := w.Source.Get("ns", s.Name); s.What == "alter" && obj != nil {
		pod = obj.(*corev1.Pod)
		pod.Labels["v"] += "x"
	}
	w.Inject(watch.Event{Type: watch.Modified, Object: pod})
}

func (w *world) letGo() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}

// labels returns the labels that distinguish the versions of pods, by key.
func labels(list runtime.Object) map[string]string {
	known := map[string]string{}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		known["ns/"+item.(*corev1.Pod).Name] = item.(*corev1.Pod).Labels["v"]
		return nil
	})
	return known
}

// differences compares all objects of store and server.
func (w *world) differences(content bool) (lines []string) {
	stored := &corev1.PodList{}
	snapshot, err := view.Of(w)
	w.assert.NoError(err)
	defer snapshot.Close()
	for _, obj := range snapshot.All() {
		stored.Items = append(stored.Items, *obj.(*corev1.Pod))
	}
	list, err := w.List(metav1.ListOptions{ResourceVersion: snapshot.ResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	w.assert.NoError(err)
	listed, held := labels(list), labels(stored)
	for key, server := range listed {
		switch ours, exists := held[key]; {
		case !exists:
			lines = append(lines, "missing "+key)
		case ours == server+"x" && content:
			lines = append(lines, "different "+key)
		case ours != server && ours != server+"x":
			lines = append(lines, "stale "+key)
		}
	}
	for key := range held {
		if _, exists := listed[key]; !exists {
			lines = append(lines, "extra "+key)
		}
	}
	return lines
}

// audited audits when all effects have occurred.
func (w *world) audited() {
	w.Calm()
	for _, content := range []bool{false, true} {
		report := w.once(w.t, audit.Options{Content: content})
		w.assert.ElementsMatch(w.differences(content), found(report))
		for kind, n := range report.Found {
			w.assert.Equal(n, report.Confirmed[kind], "nothing happens meanwhile")
		}
	}
}

// repaired repairs the remaining differences by an audit.
func (w *world) repaired() {
	w.letGo()
	w.audited()
	w.Bookmark()
	w.audited()
	time.Sleep(2 * time.Hour)
	w.once(w.t, audit.Options{Content: true, Repair: true})
	w.audited()
	w.assert.Empty(w.differences(true))
	now, err := w.List(metav1.ListOptions{})
	w.assert.NoError(err)
	heard, problems, _ := w.mirror.State()
	for _, problem := range problems {
		w.assert.Contains(problem, "delete of unknown", "which is what the watch told")
	}
	w.assert.Len(heard, len(labels(now)))
	for key, v := range labels(now) {
		w.assert.Equal(v, w.mirror.Objects[key[len("ns/"):]].Labels["v"], key)
	}
}
