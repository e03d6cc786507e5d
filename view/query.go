// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/cache/internal/event"
)

// Query selects the objects of a snapshot that meet all of its conditions. The zero value selects
// every object. A Query may be used by any number of goroutines and for any number of snapshots.
//
// Only the objects with the rarest of the index values are read, whatever the order of the terms;
// the other terms are tested by their index functions. Snapshot.Explain shows the value that was used.
type Query struct {
	// Where lists the index values that an object must have. An object for which the index function
	// fails has no values in that index.
	Where []Term

	// Labels selects by labels. An object without API metadata has no labels. nil selects all.
	Labels labels.Selector

	// Match is called for objects that meet all other conditions, in the caller's goroutine. It
	// must not modify the object, and must always return the same result for the same object. nil
	// selects all.
	Match func(obj any) bool

	alternatives []Query // at least one of them must be met; nil means no such condition
}

// Term is met by an object that has Value among its values in Index.
type Term struct{ Index, Value string }

// Any returns a query for the objects that at least one of the queries selects; without queries it
// selects none. Its fields are further conditions, and may be set.
func Any(queries ...Query) Query { return Query{alternatives: append([]Query{}, queries...)} }

// Select yields the key and object of each object that q selects, each once, in no particular order
// and without copying. Objects of another type than T are left out, as by TypedAll. The body of the
// loop may do anything but close the snapshot, which may end the loop early. A loop over a snapshot that
// was closed before it yields nothing, and the ErrorHandlers of k8s.io/apimachinery/pkg/util/runtime get an
// error that says so.
//
// The error is ErrClosed, or names an index that the snapshot does not have, and the existing ones.
func Select[T comparable](s *Snapshot, q Query) (iter.Seq2[string, T], error) {
	p, err := newPlan(s, q)
	if err != nil {
		return nil, err
	}
	return typed[T](func(yield func(string, any) bool) {
		if err := s.of.Err(); err != nil {
			event.Report(context.Background(), fmt.Errorf("a loop over the result of Select: %w before it began: collect the objects first", err), "Nothing was read")
			return
		}
		p.objects(yield)
	}), nil
}

// Count returns the number of objects of any type that q selects. It reads objects only if q has
// other conditions than one term. The errors are those of Select.
func (s *Snapshot) Count(q Query) (int, error) {
	p, err := newPlan(s, q)
	if err != nil {
		return 0, err
	}
	if p.isExact() {
		return p.size, nil
	}
	n := p.count()
	if err := s.of.Err(); err != nil { // it may have been closed meanwhile
		return 0, err
	}
	return n, nil
}

// Plan describes the evaluation of a query.
type Plan struct {
	// From lists the index values whose objects are read; an empty Term means all objects. It has
	// one entry for a query, and for a query of Any either one for each of its queries or one for
	// all of them.
	From []Term

	// Looked is the number of objects that are read, and Found the number of those that the query
	// selects.
	Looked, Found int
}

// Explain evaluates q and describes the evaluation. The errors are those of Select.
func (s *Snapshot) Explain(q Query) (Plan, error) {
	p, err := newPlan(s, q)
	if err != nil {
		return Plan{}, err
	}
	answer := Plan{From: p.from(nil), Looked: p.size, Found: p.count()}
	if err := s.of.Err(); err != nil {
		return Plan{}, err
	}
	return answer, nil
}

// String returns the plan on one line, as in `node="n7": looked at 12 objects, found 3`.
func (p Plan) String() string {
	from := make([]string, len(p.From))
	for i, t := range p.From {
		if from[i] = "all objects"; t != (Term{}) {
			from[i] = fmt.Sprintf("%s=%q", t.Index, t.Value)
		}
	}
	return fmt.Sprintf("%s: looked at %d objects, found %d", strings.Join(from, " or "), p.Looked, p.Found)
}

// unknownIndex adds the names of the existing indexes to an error about an unknown one.
func unknownIndex(s *Snapshot, err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	names := s.of.Indexes()
	if len(names) == 0 {
		return fmt.Errorf("%w: the store has no indexes; add them with AddIndexers, before the snapshot is taken", err)
	}
	return fmt.Errorf("%w: the store has %s", err, strings.Join(names, ", "))
}
