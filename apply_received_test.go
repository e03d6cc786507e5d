// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// forgetful is a transform that, as a label says, keeps the version, drops it, makes another of it,
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

// TestReceivedVersionsDecideWhateverTheQueue: a pipeline that is told of each record whether it was
// transformed finds the same changes and resyncs as one that takes every object for transformed.
func TestReceivedVersionsDecideWhateverTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var outlined [2][]string
		var both [2]*pipeline
		options := queueOptions{}
		options.keepCached = rapid.Bool().Draw(t, "keepCached")
		transforms := rapid.IntRange(0, 3).Draw(t, "transforms") > 0
		for i := range both {
			switch options.transform = forgetful; {
			case !transforms && i == 0:
				options.transform = nil
			case !transforms:
				options.transform = func(obj any) (any, error) { return obj, nil } // so that everything counts as transformed
			}
			both[i] = openPipeline(newStore(MetaNamespaceKeyFunc, nil), options)
			both[i].deliver = func(changes []event.Change) { outlined[i] = outlines(changes) }
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			feedBoth(t, both)
			if rapid.Bool().Draw(t, "pop") && both[0].queue.Waiting.Len() > 0 {
				for _, p := range both {
					require.NoError(t, p.queue.PopAll(p.handle))
				}
				require.Equal(t, outlined[1], outlined[0])
			}
			require.Equal(t, both[1].applier.Received, both[0].applier.Received)
			require.Equal(t, both[1].contents.Table.RV(), both[0].contents.Table.RV())
		}
	})
}

// feed gives both pipelines the same; what cannot be transformed is refused.
func feedBoth(t *rapid.T, both [2]*pipeline) {
	draw := func() *corev1.Pod {
		p := testkit.Pod(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "4", "5", "6"}).Draw(t, "version"))
		p.UID = "uid"
		p.Labels = map[string]string{"do": rapid.SampledFrom([]string{"keep", "drop", "alter", "nameless", "fail"}).Draw(t, "do")}
		return p
	}
	switch rapid.IntRange(0, 3).Draw(t, "op") {
	case 0:
		listed := []*corev1.Pod{draw(), draw()}[:rapid.IntRange(0, 2).Draw(t, "listed")]
		for _, p := range both {
			next, err := p.Stage(0, false), error(nil)
			for _, obj := range listed {
				err = errors.Join(err, next.Put(obj.DeepCopy()))
			}
			_ = errors.Join(err, next.Publish("7")) // or nothing, if something cannot be transformed
		}
	case 1:
		for _, p := range both {
			require.NoError(t, p.Resync())
		}
	default:
		records := make([]event.Record, 3)
		for i := range records {
			obj := draw()
			records[i] = event.Record{Type: rapid.SampledFrom([]DeltaType{Added, Updated, Deleted}).Draw(t, "typ"), Version: obj.ResourceVersion, Object: obj}
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

// outlines says what changes mean.
func outlines(changes []event.Change) (lines []string) {
	for i := range changes {
		c := &changes[i]
		lines = append(lines, fmt.Sprint(c.Kind, c.Key, c.Initial, c.Resync, c.Size()))
	}
	slices.Sort(lines)
	return lines
}
