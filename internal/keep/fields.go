// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keep removes all fields of objects but those that paths name, and those of the metadata.
package keep

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
)

// Fields are what is kept of a value. The nil Fields keep nothing. Fields are immutable.
type Fields struct {
	all    bool
	others bool               // what is not named is kept whole
	named  map[string]*Fields // by the JSON name of a field, or the key of a map
}

var whole = &Fields{all: true}

// Of returns what is kept of a member, by its JSON name, or of the value of a key.
func (f *Fields) Of(name string) *Fields {
	switch child, named := f.named[name]; {
	case f.all:
		return f
	case named:
		return child
	case f.others:
		return whole
	}
	return nil
}

// Named yields what is kept of the members that have a name of their own in f, and for which something is.
func (f *Fields) Named() iter.Seq2[string, *Fields] {
	return func(yield func(string, *Fields) bool) {
		for name, of := range f.named {
			if of != nil && !yield(name, of) {
				return
			}
		}
	}
}

// All reports whether the whole value is kept.
func (f *Fields) All() bool { return f.all }

// known has the Fields of each set of paths, so that equal ones are the same.
var known sync.Map // the paths, sorted and quoted → *Fields

// New returns what paths keep of objects: their kind, and their metadata without annotations and managedFields,
// unless a path names these. It returns nil, which keeps all, for nil paths, and the paths that are none. For the
// same paths it returns the same Fields.
func New(paths []string) (root *Fields, malformed []string) {
	if paths == nil {
		return nil, nil
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(paths)))
	if root, malformed = newFields(sorted); malformed == nil {
		same, _ := known.LoadOrStore(fmt.Sprintf("%q", sorted), root)
		root = same.(*Fields)
	}
	return root, malformed
}

func newFields(paths []string) (root *Fields, malformed []string) {
	metadata := &Fields{others: true, named: map[string]*Fields{"annotations": nil, "managedFields": nil}}
	root = &Fields{named: map[string]*Fields{"kind": whole, "apiVersion": whole, "metadata": metadata}}
	for _, path := range paths {
		steps, ok := Steps(path)
		if !ok {
			malformed = append(malformed, path)
			continue
		}
		root.add(steps)
	}
	return root, malformed
}

// add adds a path, which is not empty.
func (f *Fields) add(steps []Step) {
	name := steps[0].Name
	if known := f.named[name]; f.all || known != nil && known.all {
		return
	}
	if len(steps) == 1 {
		f.named[name] = whole
		return
	}
	if f.named[name] == nil {
		if _, named := f.named[name]; f.others && !named {
			return // it is kept whole
		}
		f.named[name] = &Fields{named: map[string]*Fields{}}
	}
	f.named[name].add(steps[1:])
}

// Step is a part of a path: the JSON name of a field, or the key of a map.
type Step struct {
	Name  string
	IsKey bool
}

// Steps returns the parts of a path such as spec.containers.ports or metadata.annotations[example.com/x].
func Steps(path string) (steps []Step, ok bool) {
	for rest := path; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 || strings.Contains(rest[:end], "]") {
			return nil, false
		}
		steps, rest = append(steps, Step{Name: rest[:end]}), rest[end:]
		for strings.HasPrefix(rest, "[") {
			key, after, closed := strings.Cut(rest[1:], "]")
			if !closed || key == "" {
				return nil, false
			}
			steps, rest = append(steps, Step{key, true}), after
		}
		if rest == "" {
			return steps, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		rest = rest[1:]
	}
}
