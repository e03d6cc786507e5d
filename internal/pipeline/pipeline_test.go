// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// openPipeline returns a pipeline over an empty store, without handlers, whose queue does not pass
// batches on by itself.
func openPipeline(o queue.Options) *Pipeline {
	contents := &store.Contents{}
	contents.Init(nil, table.Options{})
	p := New(Options{Contents: contents, Failures: &queue.Failures{}, Deliver: func([]event.Change) {}})
	p.Open("", nil, o)
	return p
}

// TestStageModel: each kind of stage ends with the last state of each key, whatever is put in
// whatever order.
func TestStageModel(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		p := openPipeline(queue.Options{})
		ours := p.Stage(event.Staging{Streamed: true})
		store := &testkit.StoreLog{}
		theirs := reflector.Foreign(store).Stage(event.Staging{Streamed: true})
		want := map[string]string{}
		for i := range draw.Int(t, 0, 60) {
			pod := testkit.PodAt(draw.Of(t, "a", "b", "c", "d", "e", "f"), fmt.Sprint(i))
			if kind := draw.Of(t, watch.Added, watch.Modified, watch.Added, watch.Deleted); kind == watch.Deleted {
				delete(want, pod.Name)
				require.NoError(t, ours.Remove(pod))
				require.NoError(t, theirs.Remove(pod))
			} else {
				want[pod.Name] = testkit.NameAt(pod)
				require.NoError(t, ours.Put(pod))
				require.NoError(t, theirs.Put(pod))
			}
		}
		require.NoError(t, theirs.Publish("99"))
		got := strings.Fields(strings.TrimPrefix(store.Entries()[0], "replace 99:"))
		assert.ElementsMatch(t, slices.Collect(maps.Values(want)), got)

		require.NoError(t, ours.Publish("99"))
		require.NoError(t, p.Queue.PopAll(p.Handle))
		stored := map[string]string{}
		for _, obj := range p.Contents.Table.List() {
			stored[obj.(*corev1.Pod).Name] = testkit.NameAt(obj)
		}
		require.Equal(t, want, stored)
	})
}

// TestUniqueKeysInTheBatchesOfNewInformer: batches are as large as unique keys permit.
func TestUniqueKeysInTheBatchesOfNewInformer(t *testing.T) {
	p := openPipeline(queue.Options{})
	q := p.Queue
	for _, pod := range []*corev1.Pod{testkit.PodAt("a", "1"), testkit.PodAt("b", "2"), testkit.PodAt("c", "3"), testkit.PodAt("b", "4"), testkit.PodAt("c", "5")} {
		assert.NoError(t, q.Put(clientgo.Updated, pod))
	}
	assert.NoError(t, q.Bookmark("6"))
	next := p.Stage(event.Staging{Size: 1})
	assert.NoError(t, next.Put(testkit.PodAt("d", "7")))
	assert.NoError(t, next.Publish("7"))
	assert.NoError(t, q.Put(clientgo.Updated, testkit.PodAt("d", "8")))
	var sizes []int
	for range 5 {
		assert.NoError(t, q.PopUnique(func(batch []event.Record, _ bool) error {
			sizes = append(sizes, len(batch))
			return nil
		}))
	}
	assert.Equal(t, []int{3, 2, 1, 1, 1}, sizes)
}

// forgetful is a transform that, depending on a label, keeps the version, drops it, changes it,
// drops the UID, or fails.
func forgetful(obj any) (any, error) {
	p := obj.(*corev1.Pod).DeepCopy()
	switch p.Labels["do"] {
	case "drop":
		p.ResourceVersion = ""
	case "alter":
		p.ResourceVersion = "5"
	case "nameless":
		p.UID = ""
	case "fail":
		return nil, errors.New("cannot take it")
	}
	return p, nil
}

// TestReceivedVersionsDecideWhateverTheQueue: a pipeline that knows of each record whether it was
// transformed finds the same changes and resyncs as one that assumes that every object was.
func TestReceivedVersionsDecideWhateverTheQueue(t *testing.T) { draw.Check(t, playReceivedVersions) }

func FuzzReceivedVersions(f *testing.F) { draw.Fuzz(f, playReceivedVersions) }

func playReceivedVersions(t *draw.T) {
	var outlined [2][]string
	var both [2]*Pipeline
	options := queue.Options{}
	options.KeepCached = t.Bool()
	transforms := draw.Int(t, 0, 3) > 0
	for i := range both {
		switch options.Transform = forgetful; {
		case !transforms && i == 0:
			options.Transform = nil
		case !transforms:
			options.Transform = func(obj any) (any, error) { return obj, nil } // so that every object counts as transformed
		}
		both[i] = openPipeline(options)
		both[i].Deliver = func(changes []event.Change) { outlined[i] = outlines(changes) }
	}
	for range draw.Int(t, 1, 30) {
		feedBoth(t, both)
		if t.Bool() && both[0].Queue.Waiting.Len() > 0 {
			for _, p := range both {
				require.NoError(t, p.Queue.PopAll(p.Handle))
			}
			require.Equal(t, outlined[1], outlined[0])
		}
		require.Equal(t, both[1].Applier.Received, both[0].Applier.Received)
		require.Equal(t, both[1].Contents.Table.RV(), both[0].Contents.Table.RV())
	}
}

// feedBoth gives both pipelines the same input; objects that cannot be transformed are refused.
func feedBoth(t *draw.T, both [2]*Pipeline) {
	pod := func() *corev1.Pod {
		p := testkit.Pod(draw.Of(t, "a", "b"), draw.Of(t, "", "4", "5", "6"))
		p.UID = "uid"
		p.Labels = map[string]string{"do": draw.Of(t, "keep", "drop", "alter", "nameless", "fail")}
		return p
	}
	switch draw.Int(t, 0, 3) {
	case 0:
		listed := []*corev1.Pod{pod(), pod()}[:draw.Int(t, 0, 2)]
		for _, p := range both {
			next, err := p.Stage(event.Staging{}), error(nil)
			for _, obj := range listed {
				err = errors.Join(err, next.Put(obj.DeepCopy()))
			}
			_ = errors.Join(err, next.Publish("7")) // publishes nothing if an object cannot be transformed
		}
	case 1:
		for _, p := range both {
			require.NoError(t, p.Resync())
		}
	default:
		records := make([]event.Record, 3)
		for i := range records {
			obj := pod()
			records[i] = event.Record{Type: draw.Of(t, clientgo.Added, clientgo.Updated, clientgo.Deleted), Version: obj.ResourceVersion, Object: obj}
		}
		for _, p := range both {
			copied := slices.Clone(records)
			for i := range copied {
				copied[i].Object = copied[i].Object.(*corev1.Pod).DeepCopy()
			}
			p.Put(copied)
		}
	}
}

// outlines describes changes.
func outlines(changes []event.Change) (lines []string) {
	for i := range changes {
		c := &changes[i]
		lines = append(lines, fmt.Sprint(c.Kind, c.Key, c.Initial, c.Resync, c.Size()))
	}
	slices.Sort(lines)
	return lines
}

// TestInformersFindKeysInTheirStore: the queue of every informer shares the key strings of its
// store.
func TestInformersFindKeysInTheirStore(t *testing.T) {
	p := openPipeline(queue.Options{})
	require.NoError(t, p.Queue.Put(clientgo.Added, testkit.PodAt("a", "1")))
	require.NoError(t, p.Queue.PopAll(p.Handle))
	known, ok := p.Contents.Table.Key([]byte("ns/a"))
	require.True(t, ok)
	key, err := p.Queue.Reader.Keys.KeyOf(testkit.PodAt("a", "2"), true)
	require.NoError(t, err)
	assert.Same(t, unsafe.StringData(known), unsafe.StringData(key))
}
