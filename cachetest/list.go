// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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

// ListWithContext responds as an API server does. The objects are ordered by key.
//
//   - resourceVersion "": the current state; with a limit in pages, all of which
//     have the state of the first one;
//   - "0": the current state, in one page (see Options.NoWatchCache);
//   - N with resourceVersionMatch Exact, or with a limit and no match: the
//     state as of N, 410 if N was compacted;
//   - N otherwise: the current state;
//   - N greater than the counter: 504 with the cause ResourceVersionTooLarge.
//
// Selectors may use labels, metadata.name, metadata.namespace and Options.Fields.
func (s *Source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	fault, scripted := s.begin(VerbList, options)
	ctx, err := s.hold(ctx, fault)
	if err != nil {
		return nil, err
	}
	page, err := s.page(ctx, options, scripted)
	if err != nil {
		return nil, err
	}
	return s.listOf(page)
}

// query has the parameters of a list request.
type query struct {
	// rv is the version of the state.
	rv uint64
	// after is the last key of the previous page, "" for the first page.
	after string
	// limit is the maximum number of objects, 0 for all.
	limit int64
	// selected is the selection of the request.
	selected selection
}

// page is the response to a query. Its objects are the stored ones.
type page struct {
	rv        uint64
	objects   []runtime.Object
	next      string
	remaining *int64 // nil: omitted
	example   runtime.Object
}

func (s *Source) page(ctx context.Context, options metav1.ListOptions, scripted bool) (page, error) {
	if err := s.lockToAnswer(ctx, scripted); err != nil {
		return page{}, err
	}
	defer s.mu.Unlock()
	selected, err := s.selectionOf(options)
	if err != nil {
		return page{}, err
	}
	if err := validate(options, false, true); err != nil {
		return page{}, err
	}
	q, err := s.queryLocked(options)
	if err != nil {
		return page{}, err
	}
	q.selected = selected
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
		var from uint64
		if from, q.after, err = decodeContinue(options.Continue); err != nil {
			return query{}, err
		}
		if from != 0 {
			q.rv = from
		}
	case options.ResourceVersion == "0" && !s.opts.NoWatchCache:
		q.limit = 0
	case isExact(options, asked):
		q.rv = asked
	}
	switch {
	case max(asked, q.rv) > s.mu.rv:
		return query{}, s.tooLargeLocked(max(asked, q.rv))
	case !s.mu.log.replayable(q.rv):
		err := expired(q.rv, s.mu.log.compacted)
		if options.Continue != "" {
			err.ErrStatus.ListMeta.Continue = encodeContinue(0, q.after)
		}
		return query{}, err
	}
	return q, nil
}

// tooLargeLocked returns this server's TooLargeResourceVersion: without a watch cache it has no retry
// delay.
func (s *Source) tooLargeLocked(asked uint64) error {
	err := TooLargeResourceVersion(asked, s.mu.rv)
	if status, ok := err.(*apierrors.StatusError); ok && s.opts.NoWatchCache {
		status.ErrStatus.Details.RetryAfterSeconds = 0
	}
	return err
}

// isExact reports whether options request the state as of the resourceVersion asked: explicitly, or
// because a paged list has to stay at one version.
func isExact(options metav1.ListOptions, asked uint64) bool {
	if asked == 0 {
		return false
	}
	match := options.ResourceVersionMatch
	return match == metav1.ResourceVersionMatchExact || match == "" && options.Limit > 0
}

// pageLocked returns the page of a query. As with an API server, a full page has a continue token while
// there are further keys, selected or not.
func (s *Source) pageLocked(q query) page {
	keys, then := s.keysAtLocked(q.rv)
	first, found := slices.BinarySearch(keys, q.after)
	if found {
		first++
	}
	keys = q.selected.named(keys[first:])
	p := page{rv: q.rv, example: s.mu.example, objects: make([]runtime.Object, 0, len(keys))}
	for i, key := range keys {
		if q.limit > 0 && int64(len(p.objects)) == q.limit {
			p.next, p.remaining = encodeContinue(q.rv, keys[i-1]), q.remaining(len(keys)-i)
			return p
		}
		obj, differs := then[key]
		if !differs {
			obj = s.mu.state[key].obj
		}
		if q.selected.has(obj) {
			p.objects = append(p.objects, obj)
		}
	}
	return p
}

// remaining returns the remaining item count of a page that n keys follow: nil for a selection, because
// the server has not evaluated it on these keys.
func (q query) remaining(n int) *int64 {
	if !q.selected.all() {
		return nil
	}
	count := int64(n)
	return &count
}

// keysAtLocked returns the keys that existed at rv in order, and the objects at rv that were changed
// since.
func (s *Source) keysAtLocked(rv uint64) ([]string, map[string]runtime.Object) {
	now := s.keysLocked()
	if rv == s.mu.rv {
		return now, nil
	}
	then := s.mu.log.undo(rv)
	keys := slices.DeleteFunc(slices.Clone(now), func(key string) bool {
		_, differs := then[key]
		return differs
	})
	for key, obj := range then {
		if obj != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, then
}

// listOf returns the list object of a page.
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
		m.SetRemainingItemCount(p.remaining)
	}
	return list, nil
}

// validate applies the validation of an API server to options.
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

// continuation is the content of a continue token: the list continues after the key From at the version
// RV, or at the current version if that is 0.
type continuation struct {
	RV   uint64 `json:"rv"`
	From string `json:"from"`
}

func encodeContinue(rv uint64, lastKey string) string {
	text, err := json.Marshal(continuation{RV: rv, From: lastKey})
	if err != nil {
		panic(err) // a number and a text
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeContinue(token string) (rv uint64, lastKey string, err error) {
	var c continuation
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return 0, "", apierrors.NewBadRequest(fmt.Sprintf("continue token %q is not one of this server", token))
	}
	return c.RV, c.From, nil
}
