// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// noBound is the end of a range without an upper bound.
const noBound = "0x10000000000000000"

// Select returns the shard of a selector, or nil if the selector is nil or selects all objects. It
// returns an error unless the selector is a series of ranges of one field, as those of apimachinery are.
func Select(selector sharding.Selector) (*Range, error) {
	if selector == nil || selector.Empty() {
		return nil, nil
	}
	r := &Range{selector: selector.String()}
	if err := r.require(selector.Requirements()); err != nil {
		return nil, fmt.Errorf("shard selector %q: %w", r.selector, err)
	}
	return r, nil
}

// require adds the spans of requirements, of which one suffices.
func (r *Range) require(all []sharding.ShardRangeRequirement) error {
	if made := sharding.NewSelector(all...).String(); made != r.selector {
		return fmt.Errorf("its requirements are those of another selector, %q", made)
	}
	for _, want := range all {
		of := Field(want.Key)
		switch {
		case of != UID && of != Namespace:
			return fmt.Errorf("field %q is neither %s nor %s", of, UID, Namespace)
		case r.of != "" && r.of != of:
			return fmt.Errorf("it has two fields, %s and %s", r.of, of)
		}
		r.of = of
		s, err := spanOf(want.Start, want.End)
		if err != nil {
			return err
		}
		if s.first <= s.last {
			r.spans = append(r.spans, s)
		}
	}
	return nil
}

// spanOf returns the span from start to before end, with first after last if it is empty.
func spanOf(start, end string) (span, error) {
	first, err := bound(start)
	if err != nil || end == noBound {
		return span{first, math.MaxUint64}, err
	}
	next, err := bound(end)
	if next <= first {
		return span{1, 0}, err
	}
	return span{first, next - 1}, err
}

// bound parses a bound. apimachinery compares bounds as texts, for which others than these mean
// something else.
func bound(text string) (uint64, error) {
	digits, hex := strings.CutPrefix(text, "0x")
	of, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || !hex || len(digits) != 16 || digits != strings.ToLower(digits) {
		return 0, fmt.Errorf("bound %q is not 0x and 16 lower-case digits", text)
	}
	return of, nil
}
