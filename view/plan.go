// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
)

// plan is a query for one snapshot: its candidates, which are looked at, and what they have to meet.
// It does not change.
type plan struct {
	snapshot *Snapshot
	query    Query
	terms    []condition // the rarest first
	any      []*plan     // of the query's any; nil if that is
	by       source
	size     int // the number of candidates
}

// condition is a term with the number of objects that meet it, and the test for one.
type condition struct {
	Term
	size int
	test func(obj any) bool
}

// source is where candidates come from.
type source uint8

const (
	byAll  source = iota // the snapshot
	byTerm               // the first term
	byAny                // the plans of any
)

// newPlan chooses the source that has the fewest candidates.
func newPlan(s *Snapshot, q Query) (*plan, error) {
	if q.Labels != nil && q.Labels.Empty() {
		q.Labels = nil
	}
	p := &plan{snapshot: s, query: q, size: s.Len()}
	if err := s.of.Err(); err != nil {
		return nil, err
	}
	for _, t := range q.Where {
		c, err := newCondition(s, t)
		if err != nil {
			return nil, unknownIndex(s, err)
		}
		p.terms = append(p.terms, c)
	}
	slices.SortStableFunc(p.terms, func(a, b condition) int { return cmp.Compare(a.size, b.size) })
	if len(p.terms) > 0 {
		p.by, p.size = byTerm, p.terms[0].size
	}
	return p, p.planAny()
}

func newCondition(s *Snapshot, t Term) (c condition, err error) {
	c.Term = t
	if c.size, err = s.of.Count(t.Index, t.Value); err == nil {
		c.test, err = s.of.Test(t.Index, t.Value)
	}
	return c, err
}

func (p *plan) planAny() error {
	if p.query.any == nil {
		return nil
	}
	size := 0
	p.any = []*plan{}
	for _, q := range p.query.any {
		one, err := newPlan(p.snapshot, q)
		if err != nil {
			return err
		}
		p.any = append(p.any, one)
		size += one.size
	}
	if size < p.size {
		p.by, p.size = byAny, size
	}
	return nil
}

// isExact tells that there are no conditions but those by which the candidates were chosen.
func (p *plan) isExact() bool {
	terms := len(p.terms)
	if p.by == byTerm {
		terms--
	}
	return terms == 0 && p.any == nil && p.query.Labels == nil && p.query.Match == nil
}

// from appends the terms that the candidates meet.
func (p *plan) from(list []Term) []Term {
	switch p.by {
	case byTerm:
		return append(list, p.terms[0].Term)
	case byAny:
		for _, one := range p.any {
			list = one.from(list)
		}
		return list
	default:
		return append(list, Term{})
	}
}

// count returns the number of objects that the query asks for.
func (p *plan) count() (n int) {
	for range p.objects {
		n++
	}
	return n
}

// objects yields what the query asks for, each once.
func (p *plan) objects(yield func(key string, obj any) bool) {
	p.candidates(func(key string, obj any) bool {
		return !p.isMetByCandidate(obj) || yield(key, obj)
	})
}

// candidates yields the objects to be looked at, each once.
func (p *plan) candidates(yield func(key string, obj any) bool) {
	switch p.by {
	case byTerm:
		if members, err := p.snapshot.ByIndex(p.terms[0].Index, p.terms[0].Value); err == nil {
			members(yield)
		}
	case byAny:
		p.union(yield)
	default:
		p.snapshot.All()(yield)
	}
}

// union yields what each plan of any asks for and no plan before it does.
func (p *plan) union(yield func(key string, obj any) bool) {
	for i, one := range p.any {
		for key, obj := range one.objects {
			if !isMetByAny(p.any[:i], obj) && !yield(key, obj) {
				return
			}
		}
	}
}

// isMetByCandidate tells whether a candidate meets the other conditions.
func (p *plan) isMetByCandidate(obj any) bool {
	terms := p.terms
	if p.by == byTerm {
		terms = terms[1:]
	}
	return p.isMet(obj, terms, p.any == nil || p.by == byAny)
}

// isMetByAny tells whether an object meets all conditions of one of the plans.
func isMetByAny(plans []*plan, obj any) bool {
	return slices.ContainsFunc(plans, func(p *plan) bool { return p.isMet(obj, p.terms, p.any == nil) })
}

// isMet tells whether an object meets these terms and all other conditions, of which any may be known
// to be met.
func (p *plan) isMet(obj any, terms []condition, anyIsMet bool) bool {
	for i := range terms {
		if !terms[i].test(obj) {
			return false
		}
	}
	return (p.query.Labels == nil || p.query.Labels.Matches(labelsOf(obj))) &&
		(anyIsMet || isMetByAny(p.any, obj)) &&
		(p.query.Match == nil || p.query.Match(obj))
}

// labelsOf returns the labels of an object of the API, nil for others.
func labelsOf(obj any) labels.Set {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return object.GetLabels()
}
