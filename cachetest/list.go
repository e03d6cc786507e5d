// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// List is ListWithContext with a context that never ends.
func (s *Source) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// ListWithContext answers as an API server does. The objects come in the order
// of their keys.
//
//   - resourceVersion "": the current state; with a limit in pages, which all
//     show the state of the first one;
//   - "0": the current state, whole (see Options.NoWatchCache);
//   - N with resourceVersionMatch Exact, or with a limit and no match: the
//     state as of N, 410 if that was compacted;
//   - N else: the current state;
//   - N greater than the counter: 504 with the cause ResourceVersionTooLarge.
//
// Selectors are recorded with the request, and have no effect.
func (s *Source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	fault := s.begin(VerbList, options)
	if _, err := s.hold(ctx, fault); err != nil {
		return nil, err
	}
	page, err := s.page(options)
	if err != nil {
		return nil, err
	}
	return s.listOf(page)
}

// query is what a list request asks for.
type query struct {
	// rv is the state to show.
	rv uint64
	// after is the last key of the page before, "" for the first page.
	after string
	// limit is the greatest number of objects, 0 for all.
	limit int64
}

// page is the answer to a query. Its objects are the stored ones.
type page struct {
	rv        uint64
	objects   []runtime.Object
	next      string
	remaining int64
	example   runtime.Object
}

func (s *Source) page(options metav1.ListOptions) (page, error) {
	if err := validate(options, false, true); err != nil {
		return page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queryLocked(options)
	if err != nil {
		return page{}, err
	}
	return s.pageLocked(q), nil
}

func (s *Source) queryLocked(options metav1.ListOptions) (query, error) {
	q := query{rv: s.mu.rv, limit: options.Limit}
	asked, err := parseRV(options.ResourceVersion)
	switch {
	case err != nil:
		return query{}, err
	case options.Continue != "":
		if asked != 0 {
			return query{}, apierrors.NewBadRequest("resourceVersion cannot be given together with continue")
		}
		if q.rv, q.after, err = decodeContinue(options.Continue); err != nil {
			return query{}, err
		}
	case options.ResourceVersion == "0" && !s.opts.NoWatchCache:
		q.limit = 0
	case isExact(options, asked):
		q.rv = asked
	}
	switch {
	case max(asked, q.rv) > s.mu.rv:
		return query{}, TooLargeResourceVersion(max(asked, q.rv), s.mu.rv)
	case !s.mu.log.replayable(q.rv):
		return query{}, expired(q.rv, s.mu.log.compacted)
	}
	return q, nil
}

// isExact reports whether options ask for the state as of the resourceVersion
// asked: by name, or because a paged list has to stay at one version.
func isExact(options metav1.ListOptions, asked uint64) bool {
	if asked == 0 {
		return false
	}
	match := options.ResourceVersionMatch
	return match == metav1.ResourceVersionMatchExact || match == "" && options.Limit > 0
}

func (s *Source) pageLocked(q query) page {
	keys, then := s.keysAtLocked(q.rv)
	first, found := slices.BinarySearch(keys, q.after)
	if found {
		first++
	}
	keys = keys[first:]
	p := page{rv: q.rv, example: s.mu.example}
	if q.limit > 0 && int64(len(keys)) > q.limit {
		p.remaining = int64(len(keys)) - q.limit
		keys = keys[:q.limit]
		p.next = encodeContinue(q.rv, keys[len(keys)-1])
	}
	p.objects = make([]runtime.Object, 0, len(keys))
	for _, key := range keys {
		obj, differs := then[key]
		if !differs {
			obj = s.mu.state[key].obj
		}
		p.objects = append(p.objects, obj)
	}
	return p
}

// keysAtLocked returns the keys that existed at rv in order, and the objects of
// then in whose place others are today.
func (s *Source) keysAtLocked(rv uint64) ([]string, map[string]runtime.Object) {
	now := s.keysLocked()
	if rv == s.mu.rv {
		return now, nil
	}
	then := s.mu.log.undo(rv)
	keys := make([]string, 0, len(now))
	for _, key := range now {
		if _, differs := then[key]; !differs {
			keys = append(keys, key)
		}
	}
	for key, obj := range then {
		if obj != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, then
}

// listOf makes the answer's list object.
func (s *Source) listOf(p page) (runtime.Object, error) {
	var list runtime.Object
	if s.opts.NewList != nil {
		list = s.opts.NewList()
	} else {
		list = newList(p.example)
	}
	for i, obj := range p.objects {
		p.objects[i] = s.out(obj)
	}
	if err := meta.SetList(list, p.objects); err != nil {
		return nil, fmt.Errorf("cachetest: objects do not fit into %T: %w", list, err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("cachetest: Options.NewList: %w", err)
	}
	m.SetResourceVersion(formatRV(p.rv))
	if p.next != "" {
		m.SetContinue(p.next)
		m.SetRemainingItemCount(&p.remaining)
	}
	return list, nil
}

// validate applies the API server's own rules to options.
func validate(options metav1.ListOptions, isWatch, watchListServed bool) error {
	errs := validation.ValidateListOptions(&internalversion.ListOptions{
		Watch:                isWatch,
		ResourceVersion:      options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch,
		Continue:             options.Continue,
		SendInitialEvents:    options.SendInitialEvents,
	}, watchListServed)
	if len(errs) > 0 {
		return invalidOptions(errs)
	}
	return nil
}

// parseRV returns 0 for the resourceVersions "" and "0".
func parseRV(rv string) (uint64, error) {
	if rv == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q is not a number", rv))
	}
	return n, nil
}

func encodeContinue(rv uint64, lastKey string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(formatRV(rv) + " " + lastKey))
}

func decodeContinue(token string) (rv uint64, lastKey string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		number, key, _ := strings.Cut(string(text), " ")
		rv, err = strconv.ParseUint(number, 10, 64)
		lastKey = key
	}
	if err != nil {
		return 0, "", apierrors.NewBadRequest(fmt.Sprintf("continue token %q is not one of this server", token))
	}
	return rv, lastKey, nil
}
