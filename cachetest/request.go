// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verb is the kind of a request.
type Verb string

const (
	// VerbList is a list, or a page of one.
	VerbList Verb = "list"
	// VerbWatch is a watch that does not request initial events.
	VerbWatch Verb = "watch"
	// VerbWatchList is a watch with SendInitialEvents true.
	VerbWatchList Verb = "watch-list"
)

// Request is a List or Watch call that a source received.
type Request struct {
	Verb    Verb
	Options metav1.ListOptions
	// At is the time of the call.
	At time.Time
}

// String returns the options that determine the response, in a fixed order and without TimeoutSeconds,
// which clients choose at random: for instance `list rv="0" limit=500`, or `watch rv="7" bookmarks`.
func (r Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rv=%q", r.Verb, r.Options.ResourceVersion)
	if m := r.Options.ResourceVersionMatch; m != "" {
		fmt.Fprintf(&b, " match=%s", m)
	}
	if r.Options.Limit != 0 {
		fmt.Fprintf(&b, " limit=%d", r.Options.Limit)
	}
	if r.Options.Continue != "" {
		b.WriteString(" continue")
	}
	if r.Options.LabelSelector != "" {
		fmt.Fprintf(&b, " labels=%q", r.Options.LabelSelector)
	}
	if r.Options.FieldSelector != "" {
		fmt.Fprintf(&b, " fields=%q", r.Options.FieldSelector)
	}
	if r.Options.AllowWatchBookmarks {
		b.WriteString(" bookmarks")
	}
	return b.String()
}

// Requests returns all requests so far, in order.
func (s *Source) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.requests)
}

// WaitRequests waits until the source has received n requests since its start, and returns all of them.
// A request counts on arrival, before the delays of a script.
func (s *Source) WaitRequests(ctx context.Context, n int) ([]Request, error) {
	err := s.await(ctx, func() bool { return len(s.mu.requests) >= n })
	requests := s.Requests()
	if err != nil {
		return requests, fmt.Errorf("cachetest: waited for %d requests, got %d (%s): %w",
			n, len(requests), bounded(requests, Request.String), err)
	}
	return requests, nil
}

// Watching returns how many streams are open.
func (s *Source) Watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.streams)
}

// WaitWatching waits until at least n streams are open.
func (s *Source) WaitWatching(ctx context.Context, n int) error {
	if err := s.await(ctx, func() bool { return len(s.mu.streams) >= n }); err != nil {
		return fmt.Errorf("cachetest: waited for %d open watches, got %d: %w", n, s.Watching(), err)
	}
	return nil
}

// WaitNotWatching waits until no stream is open.
func (s *Source) WaitNotWatching(ctx context.Context) error {
	if err := s.await(ctx, func() bool { return len(s.mu.streams) == 0 }); err != nil {
		return fmt.Errorf("cachetest: waited for the end of %d open watches: %w", s.Watching(), err)
	}
	return nil
}

// mostNamed is the maximum number of items in the text of an error: enough to find the cause, few
// enough to read.
const mostNamed = 5

// bounded formats the first items, and the number of the others.
func bounded[T any](items []T, text func(T) string) string {
	named := make([]string, 0, mostNamed+1)
	for i, item := range items {
		if i == mostNamed {
			named = append(named, fmt.Sprintf("and %d more", len(items)-mostNamed))
			break
		}
		named = append(named, text(item))
	}
	return strings.Join(named, ", ")
}

func verbOfWatch(options metav1.ListOptions) Verb {
	if send := options.SendInitialEvents; send != nil && *send {
		return VerbWatchList
	}
	return VerbWatch
}
