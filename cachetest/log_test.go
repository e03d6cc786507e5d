// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/testkit/draw"
)

// check walks the log and returns the first broken invariant.
func (l *eventLog) check() error {
	rv := uint64(0)
	for i, e := range l.entries {
		if e.seq != l.first()+uint64(i) {
			return fmt.Errorf("entry %d has seq %d, the first %d", i, e.seq, l.first())
		}
		if e.rv < rv || e.kind == change && e.rv == rv && rv > 0 {
			return fmt.Errorf("entry %d has rv %d after %d", i, e.rv, rv)
		}
		rv = e.rv
	}
	return nil
}

// TestLogAgainstHistory does random writes, compactions and rewinds, and compares every state that the
// log can still restore with the recorded one.
func TestLogAgainstHistory(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		s := New(Options{})
		past := map[uint64]map[string]runtime.Object{1: {}} // the complete state after each write
		t.Repeat(map[string]func(*draw.T){
			"write": func(t *draw.T) {
				name := draw.Of(t, "a", "b", "c")
				if s.Get("", name) != nil && t.Bool() {
					s.Delete("", name)
				} else {
					s.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: int64(s.mu.rv)}})
				}
				past[s.mu.rv] = stateOf(s)
			},
			"tick": func(*draw.T) { past[s.Tick()] = stateOf(s) },
			"mark": func(*draw.T) { s.Cut() },
			"compact": func(t *draw.T) {
				s.Compact(draw.Int(t, 0, s.mu.rv+1))
			},
			"rewind": func(t *draw.T) {
				rv := draw.Int(t, s.mu.log.compacted, s.mu.rv)
				s.Rewind(rv)
				maps.DeleteFunc(past, func(then uint64, _ map[string]runtime.Object) bool { return then > rv })
			},
			"": func(t *draw.T) {
				require.NoError(t, s.mu.log.check())
				require.Equal(t, past[s.mu.rv], stateOf(s))
				for rv := s.mu.log.compacted; rv <= s.mu.rv; rv++ {
					require.Equal(t, past[rv], stateAt(s, rv), "state at %d", rv)
				}
			},
		})
	})
}

func stateOf(s *Source) map[string]runtime.Object {
	state := map[string]runtime.Object{}
	for key, stored := range s.mu.state {
		state[key] = stored.obj
	}
	return state
}

func stateAt(s *Source, rv uint64) map[string]runtime.Object {
	state := map[string]runtime.Object{}
	p := s.pageLocked(query{rv: rv})
	for _, obj := range p.objects {
		state[keyOf(accessor(obj))] = obj
	}
	return state
}
