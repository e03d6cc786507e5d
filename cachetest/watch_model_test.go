// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/cachetest"
)

// watched is a stream of the model: what is still to come on it, and whether it
// ends then.
type watched struct {
	watch.Interface
	due  []string
	ends bool
}

// watchModel is the reference for streams: every write in a line, and what each
// stream that is open has still to deliver of them.
type watchModel struct {
	src       *cachetest.Source
	writes    []string // the first one has version 2
	compacted uint64
	open      []*watched
}

// compact forgets a part of the past, as far as the streams let it.
func (m *watchModel) compact(t *rapid.T) {
	rv := rapid.Uint64Range(1, m.src.ResourceVersion()).Draw(t, "rv")
	m.src.Compact(rv)
	m.compacted = max(m.compacted, rv)
}

// write does a random write, and tells the streams of it.
func (m *watchModel) write(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	event := watch.Event{Type: watch.Added}
	switch exists := m.src.Get("default", name) != nil; {
	case exists && rapid.Bool().Draw(t, "delete"):
		event = watch.Event{Type: watch.Deleted, Object: m.src.Delete("default", name)}
	default:
		if exists {
			event.Type = watch.Modified
		}
		p := pod(name)
		p.Generation = int64(m.src.ResourceVersion())
		event.Object = m.src.Put(p)
	}
	m.writes = append(m.writes, line(event))
	for _, w := range m.open {
		if !w.ends {
			w.due = append(w.due, line(event))
		}
	}
}

// watch opens a stream from any version after 0.
func (m *watchModel) watch(t *rapid.T) {
	from := rapid.Uint64Range(1, m.src.ResourceVersion()).Draw(t, "from")
	opened, err := m.src.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: formatLast(from)})
	require.NoError(t, err)
	w := &watched{Interface: opened}
	if from < m.compacted {
		w.due, w.ends = []string{"ERROR Expired"}, true
	} else {
		w.due = append(w.due, m.writes[from-1:]...)
	}
	m.open = append(m.open, w)
}

// read takes what comes next on one of the streams.
func (m *watchModel) read(t *rapid.T) {
	if len(m.open) == 0 {
		t.Skip("nothing is open")
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "stream")
	w := m.open[i]
	if len(w.due) == 0 {
		m.stop(i)
		return
	}
	event, open := <-w.ResultChan()
	require.True(t, open)
	require.Equal(t, w.due[0], line(event))
	if w.due = w.due[1:]; w.ends {
		_, open = <-w.ResultChan()
		require.False(t, open)
		m.stop(i)
	}
}

func (m *watchModel) stop(i int) {
	m.open[i].Stop()
	m.open = slices.Delete(m.open, i, i+1)
}

// TestStreamsAgainstHistory: whatever is compacted beside streams that are read slowly, each
// delivers what was written after its beginning, or says once that it cannot, and no writer is
// hurt.
func TestStreamsAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &watchModel{src: cachetest.New(), compacted: 1}
		defer func() {
			for len(m.open) > 0 {
				m.stop(0)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){"write": m.write, "watch": m.watch, "read": m.read, "compact": m.compact})
	})
}
