// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strconv"
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
type identity struct{ name, group, version, resource string }

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
	r.forgetLocked(running)
	v := visit{yield: yield}
	v.process(r.process, running)
	for i := range running {
		v.informer(&running[i], r.ofLocked(&running[i]))
	}
}

// forgetLocked forgets who does not run any more.
func (r *Reader) forgetLocked(running []inspect.Inspection) {
	runs := make(map[uint64]bool, len(running))
	for i := range running {
		runs[running[i].ID] = true
	}
	for id, known := range r.mu.known {
		if !runs[id] {
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

// identityOf returns what Options.Identifier has told, and what logs call the objects if that was no
// resource.
func identityOf(i *inspect.Inspection) identity {
	gvr := i.Resource
	return identity{
		labelText(i.InformerName), labelText(gvr.Group), labelText(gvr.Version),
		labelText(cmp.Or(gvr.Resource, i.Name)),
	}
}

// labels are those of an informer, but for the ordinal.
func (id identity) labels() *Series {
	return newSeries("name", id.name, "group", id.group, "version", id.version, "resource", id.resource)
}

// series are the labels of an informer.
func (id identity) series(ordinal int) *Series {
	return id.labels().with("ordinal", strconv.Itoa(ordinal))
}
