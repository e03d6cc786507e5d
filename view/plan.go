// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
)

// plan evaluates a query for one snapshot: it reads candidates and tests the remaining conditions.
// It is immutable.
type plan struct {
	snapshot     *Snapshot
	query        Query
	terms        []condition // the rarest first
	alternatives []*plan     // plans for the alternatives of the query; nil if these are
	by           source
	size         int // the number of candidates
}

// condition is a term, with the number of objects that meet it and a test for an object.
type condition struct {
	Term
	size int
	test func(obj any) bool
}

// source is the origin of the candidates.
type source uint8

const (
	byAll  source = iota // the snapshot
	byTerm               // the first term
	byAny                // the plans of the alternatives
)

// newPlan chooses the source with the fewest candidates.
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
	if c.size, err = s.count(t.Index, t.Value); err == nil {
		c.test, err = s.of.Test(t.Index, t.Value)
	}
	return c, err
}

func (p *plan) planAny() error {
	if p.query.alternatives == nil {
		return nil
	}
	size := 0
	p.alternatives = []*plan{}
	for _, q := range p.query.alternatives {
		one, err := newPlan(p.snapshot, q)
		if err != nil {
			return err
		}
		p.alternatives = append(p.alternatives, one)
		size += one.size
	}
	if size < p.size {
		p.by, p.size = byAny, size
	}
	return nil
}

// isExact reports whether the source of the candidates is the only condition.
func (p *plan) isExact() bool {
	terms := len(p.terms)
	if p.by == byTerm {
		terms--
	}
	return terms == 0 && p.alternatives == nil && p.query.Labels == nil && p.query.Match == nil
}

// from appends the terms that all candidates meet.
func (p *plan) from(list []Term) []Term {
	switch p.by {
	case byTerm:
		return append(list, p.terms[0].Term)
	case byAny:
		for _, one := range p.alternatives {
			list = one.from(list)
		}
		return list
	default:
		return append(list, Term{})
	}
}

// count returns the number of objects that the query selects.
func (p *plan) count() (n int) {
	for range p.objects {
		n++
	}
	return n
}

// objects yields the objects that the query selects, each once.
func (p *plan) objects(yield func(key string, obj any) bool) {
	p.candidates(func(key string, obj any) bool {
		return !p.isMetByCandidate(obj) || yield(key, obj)
	})
}

// candidates yields the objects to be tested, each once.
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

// union yields the objects that a plan of an alternative selects and no earlier plan does.
func (p *plan) union(yield func(key string, obj any) bool) {
	for i, one := range p.alternatives {
		for key, obj := range one.objects {
			if !isMetByAny(p.alternatives[:i], obj) && !yield(key, obj) {
				return
			}
		}
	}
}

// isMetByCandidate reports whether a candidate meets the remaining conditions.
func (p *plan) isMetByCandidate(obj any) bool {
	terms := p.terms
	if p.by == byTerm {
		terms = terms[1:]
	}
	return p.isMet(obj, terms, p.alternatives == nil || p.by == byAny)
}

// isMetByAny reports whether an object meets all conditions of at least one of the plans.
func isMetByAny(plans []*plan, obj any) bool {
	return slices.ContainsFunc(plans, func(p *plan) bool { return p.isMet(obj, p.terms, p.alternatives == nil) })
}

// isMet reports whether an object meets the terms and all other conditions. The alternatives
// are not tested if anyIsMet is set.
func (p *plan) isMet(obj any, terms []condition, anyIsMet bool) bool {
	for i := range terms {
		if !terms[i].test(obj) {
			return false
		}
	}
	return (p.query.Labels == nil || p.query.Labels.Matches(labelsOf(obj))) &&
		(anyIsMet || isMetByAny(p.alternatives, obj)) &&
		(p.query.Match == nil || p.query.Match(obj))
}

// labelsOf returns the labels of an API object, or nil for others.
func labelsOf(obj any) labels.Set {
	object, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return object.GetLabels()
}
