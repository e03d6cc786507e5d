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
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

// forgetful is a transform that, as a label says, keeps the version, drops it, makes another of it, or fails.
func forgetful(obj any) (any, error) {
	p := obj.(*corev1.Pod).DeepCopy()
	switch p.Labels["do"] {
	case "drop":
		p.ResourceVersion = ""
	case "alter":
		p.ResourceVersion = "5"
	case "fail":
		return nil, errors.New("cannot take it")
	}
	return p, nil
}

// TestReceivedVersionsDecideWhateverTheQueue: an applier that is told of each record whether it was transformed finds the
// same changes and resyncs as one that takes every object for transformed.
func TestReceivedVersionsDecideWhateverTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		options := queueOptions{logger: klog.Background()}
		options.coalesced, options.keepCached = rapid.Bool().Draw(t, "coalesced"), rapid.Bool().Draw(t, "keepCached")
		if rapid.IntRange(0, 3).Draw(t, "transforms") > 0 {
			options.transform = forgetful
		}
		queue := newInformerQueue(options)
		told, always := newApplier(newStore(MetaNamespaceKeyFunc, nil)), newApplier(newStore(MetaNamespaceKeyFunc, nil))
		apply := func(batch []record, initial bool) error {
			copied := slices.Clone(batch)
			for i := range copied {
				copied[i].transformed = true
			}
			want, got := outlines(always.apply(copied, initial)), outlines(told.apply(batch, initial))
			require.Equal(t, want, got)
			always.done()
			told.done()
			return nil
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			feedQueue(t, queue)
			if rapid.Bool().Draw(t, "pop") && queue.core().waiting.len() > 0 {
				require.NoError(t, queue.popAll(apply))
			}
			require.Equal(t, always.received, told.received)
			require.Equal(t, always.store.RV(), told.store.RV())
		}
	})
}

// feedQueue puts something; what cannot be transformed is refused.
func feedQueue(t *rapid.T, queue informerQueue) {
	draw := func() any {
		p := pod(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "4", "5", "6"}).Draw(t, "version"))
		p.Labels = map[string]string{"do": rapid.SampledFrom([]string{"keep", "drop", "alter", "fail"}).Draw(t, "do")}
		return p
	}
	switch rapid.IntRange(0, 5).Draw(t, "op") {
	case 0:
		_ = queue.Add(draw())
	case 1:
		_ = queue.Update(draw())
	case 2:
		_ = queue.Delete(draw())
	case 3:
		_ = queue.Replace([]any{draw(), draw()}[:rapid.IntRange(0, 2).Draw(t, "listed")], "7")
	case 4:
		_ = queue.Resync()
	default:
		records := make([]record, 3)
		for i := range records {
			obj := draw()
			version, _ := objectVersion(obj)
			records[i] = record{typ: rapid.SampledFrom([]DeltaType{Added, Updated, Deleted}).Draw(t, "typ"), version: version, object: obj}
		}
		queue.core().putBatch(records)
	}
}

// outlines says what changes mean.
func outlines(changes []change) (lines []string) {
	for i := range changes {
		c := &changes[i]
		lines = append(lines, fmt.Sprint(c.kind, c.key, c.initial, c.resync, c.size()))
	}
	slices.Sort(lines)
	return lines
}
