// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kit_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		return nil, withoutName(made, err)
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

func withoutName(made *corev1.Pod, err error) error {
	if err == nil {
		return fmt.Errorf("made %s", made.GenerateName)
	}
	return err
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
	send := true
	told := func(s *side) []string {
		_, token := s.listed(ctx, metav1.ListOptions{Limit: 1})
		s.do(t, update("a", "x", "forgotten"))
		forget(s)
		s.note(t)
		var lines []string
		note := func(o metav1.ListOptions) string {
			line, next := s.listed(ctx, o)
			lines = append(lines, "list "+describe(o)+": "+line)
			return next
		}
		for _, o := range []metav1.ListOptions{
			{ResourceVersion: "v3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, {ResourceVersion: "v3", Limit: 1},
			{ResourceVersion: "v3"}, {ResourceVersion: "0"}, {},
		} {
			note(o)
		}
		next, newer := s.listed(ctx, metav1.ListOptions{Continue: token})
		lines = append(lines, "list goes on: "+next)
		if newer != "" {
			next, _ = s.listed(ctx, metav1.ListOptions{Continue: newer})
			lines = append(lines, "with the token of the refusal: "+next)
		}
		for _, o := range []metav1.ListOptions{
			{ResourceVersion: "v3"},
			{ResourceVersion: "v3", SendInitialEvents: &send, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true},
		} {
			lines = append(lines, fmt.Sprint("watch ", describe(o), ": ", s.read(ctx, s.opened(ctx, o), "")))
		}
		return lines
	}
	b.compare(t, "after a compaction", told(b.real), told(b.kit))
}
