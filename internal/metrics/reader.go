// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kinformer/cache/inspect"
)

// Options bound what an informer adds to the metrics.
type Options struct {
	// MaxHandlers is how many names of handlers of an informer become values of the label handler,
	// and MaxIndices how many names of its indices those of the label index. The others become
	// Other. 0 is 32, and 16; a negative number is none.
	MaxHandlers, MaxIndices int
}

const (
	defaultHandlers = 32
	defaultIndices  = 16
)

// Reader reads the metrics. It keeps, of the informers that ran when it last did, how they were
// labeled and what their handlers had counted. It may be used from several goroutines.
type Reader struct {
	options Options
	process *Series

	mu struct {
		sync.Mutex
		known    map[uint64]*informer // by Inspection.ID
		ordinals map[identity][]bool  // those that are taken
	}
}

// Sample is a value of a metric.
type Sample struct {
	Metric *Metric
	Series *Series
	Value  float64
	Times  *Times // of a Histogram or Summary, in place of Value; valid during the call
}

// Times says how long things took.
type Times struct {
	Count   uint64
	Seconds float64 // together
	// Buckets are how many took up to each of Bounds and longer than the bound
	// before, and last those beyond all. It is nil for a Summary.
	Buckets []uint64
}

// identity is what the labels of an informer say, but for the ordinal.
type identity struct{ name, group, version, resource, namespace, server string }

func NewReader(o Options) *Reader {
	o.MaxHandlers = max(0, cmp.Or(o.MaxHandlers, defaultHandlers))
	o.MaxIndices = max(0, cmp.Or(o.MaxIndices, defaultIndices))
	r := &Reader{options: o, process: newSeries()}
	r.mu.known, r.mu.ordinals = map[uint64]*informer{}, map[identity][]bool{}
	return r
}

// Read calls yield for the values of all metrics at this time, each combination of metric and
// labels once, one call at a time. yield must not call Read.
func (r *Reader) Read(yield func(Sample)) {
	r.mu.Lock() // from here on: of two calls the second one sees what is newer
	defer r.mu.Unlock()
	var running []inspect.Inspection
	for informer := range inspect.All() {
		if i, err := inspect.Of(informer); err == nil {
			running = append(running, i)
		}
	}
	v := visit{yield: yield}
	v.process(r.process, running)
	running = slices.DeleteFunc(running, isUnnamed)
	slices.SortStableFunc(running, inOrder)
	r.forgetLocked(running)
	for i := range running {
		v.informer(&running[i], r.ofLocked(&running[i]))
	}
}

// isUnnamed reports whether the first request, which tells the labels, is still to come.
func isUnnamed(i inspect.Inspection) bool {
	return i.Status.Mode == "" && i.Sources == 0 && len(i.Status.Problems) == 0
}

// inOrder is the order in which informers get their ordinals: the same one in each run of a program, as
// far as they differ.
func inOrder(a, b inspect.Inspection) int {
	return cmp.Or(
		cmp.Compare(a.Status.LabelSelector, b.Status.LabelSelector),
		cmp.Compare(a.Status.FieldSelector, b.Status.FieldSelector), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
}

// forgetLocked forgets those that do not run any more, or under other labels.
func (r *Reader) forgetLocked(running []inspect.Inspection) {
	runs := make(map[uint64]identity, len(running))
	for i := range running {
		runs[running[i].ID] = identityOf(&running[i])
	}
	for id, known := range r.mu.known {
		if now, is := runs[id]; !is || now != known.identity {
			r.release(known)
			delete(r.mu.known, id)
		}
	}
}

// release gives back the ordinal of an informer.
func (r *Reader) release(known *informer) {
	taken := r.mu.ordinals[known.identity]
	taken[known.ordinal] = false
	if !slices.Contains(taken, true) {
		delete(r.mu.ordinals, known.identity)
	}
}

// ofLocked returns what is known of an informer.
func (r *Reader) ofLocked(i *inspect.Inspection) *informer {
	if known := r.mu.known[i.ID]; known != nil {
		return known
	}
	id := identityOf(i)
	taken := r.mu.ordinals[id]
	ordinal := slices.Index(taken, false)
	if ordinal < 0 {
		ordinal, taken = len(taken), append(taken, false)
	}
	taken[ordinal] = true
	r.mu.ordinals[id] = taken
	known := newInformer(r.options, id, ordinal)
	r.mu.known[i.ID] = known
	return known
}

// identityOf returns what is known of the requests, and what logs call the objects if that is no resource.
func identityOf(i *inspect.Inspection) identity {
	s, name := &i.Status, i.Name
	if strings.HasPrefix(name, i.Type) { // the namespace, which may follow, has a label
		name = i.Type
	}
	return identity{
		labelText(i.InformerName), labelText(s.Resource.Group), labelText(s.Resource.Version),
		labelText(cmp.Or(s.Resource.Resource, name)), labelText(s.Namespace), labelText(s.Server),
	}
}

// labels are those of an informer, but for the ordinal.
func (id identity) labels() *Series {
	return newSeries("name", id.name, "group", id.group, "version", id.version, "resource", id.resource,
		"namespace", id.namespace, "server", id.server)
}

// series are the labels of an informer.
func (id identity) series(ordinal int) *Series {
	return id.labels().with("ordinal", strconv.Itoa(ordinal))
}
