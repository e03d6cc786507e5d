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
// Selectors are for labels, and for metadata.name, metadata.namespace and
// Options.Fields.
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
	// selected are those to show.
	selected selection
}

// page is the answer to a query. Its objects are the stored ones.
type page struct {
	rv        uint64
	objects   []runtime.Object
	next      string
	remaining *int64 // nil: not told
	example   runtime.Object
}

func (s *Source) page(options metav1.ListOptions) (page, error) {
	selected, err := s.selectionOf(options)
	if err != nil {
		return page{}, err
	}
	if err := validate(options, false, true); err != nil {
		return page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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

// tooLargeLocked is TooLargeResourceVersion as this server says it: who has no
// cache does not ask to come back.
func (s *Source) tooLargeLocked(asked uint64) error {
	err := TooLargeResourceVersion(asked, s.mu.rv)
	if status, ok := err.(*apierrors.StatusError); ok && s.opts.NoWatchCache {
		status.ErrStatus.Details.RetryAfterSeconds = 0
	}
	return err
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

// pageLocked answers a query. As with an API server, a page that is full says
// that there is more as long as there are keys, selected or not.
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

// remaining is what a page tells of the n keys behind it: nothing if the answer
// is selected, because the server has not looked at them.
func (q query) remaining(n int) *int64 {
	if !q.selected.all() {
		return nil
	}
	count := int64(n)
	return &count
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
		m.SetRemainingItemCount(p.remaining)
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

// continuation is what a continue token says: the list goes on behind the key
// From as of the version RV, or as of now if that is 0.
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
