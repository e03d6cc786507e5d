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

// Options bounds the number of series of an informer.
type Options struct {
	// MaxHandlers is the number of an informer's handler names that become values of the label
	// handler, and MaxIndices the number of its index names for the label index. Further names
	// become Other. 0 means 32 and 16; a negative number means none.
	MaxHandlers, MaxIndices int
}

const (
	defaultHandlers = 32
	defaultIndices  = 16
)

// Reader reads the metrics. It keeps the labels and the handlers' counts of the informers that ran
// at the last Read. It may be used by several goroutines.
type Reader struct {
	options Options
	process *Series

	mu struct {
		sync.Mutex
		informers map[uint64]*informer // by Inspection.ID, as of the last Read
		ordinals  map[identity][]bool  // which ordinals are taken
	}
}

// Sample is a value of a metric.
type Sample struct {
	Metric *Metric
	Series *Series
	Value  float64
	Times  *Times // for a Histogram or Summary, instead of Value; valid during the call of yield
}

// Times summarizes durations.
type Times struct {
	Count   uint64
	Seconds float64 // the sum
	// Buckets has the number of durations between each of Bounds and the bound before it, and last
	// the number beyond all bounds. It is nil for a Summary.
	Buckets []uint64
}

// identity has the values of an informer's labels, without ordinal.
type identity struct{ name, group, version, resource, namespace, server string }

func NewReader(o Options) *Reader {
	o.MaxHandlers = max(0, cmp.Or(o.MaxHandlers, defaultHandlers))
	o.MaxIndices = max(0, cmp.Or(o.MaxIndices, defaultIndices))
	r := &Reader{options: o, process: newSeries()}
	r.mu.informers, r.mu.ordinals = map[uint64]*informer{}, map[identity][]bool{}
	return r
}

// Read calls yield once for each combination of metric and labels, with the current value. Calls of
// yield do not overlap, and yield must not call Read.
func (r *Reader) Read(yield func(Sample)) {
	r.mu.Lock() // also for inspect.All, so that of two calls the second one sees newer values
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

// isUnnamed reports whether the informer is not yet about to send its first request, which determines
// the labels, and does not wait for a list slot.
func isUnnamed(i inspect.Inspection) bool {
	return i.Status.Mode == "" && i.Status.Lists+i.Status.Watches == 0 && len(i.Status.Problems) == 0
}

// inOrder is the order in which informers get their ordinals. It is the same in each run of a
// program, for informers that differ.
func inOrder(a, b inspect.Inspection) int {
	return cmp.Or(
		cmp.Compare(a.Status.LabelSelector, b.Status.LabelSelector),
		cmp.Compare(a.Status.FieldSelector, b.Status.FieldSelector), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
}

// forgetLocked removes informers that no longer run, or whose labels have changed.
func (r *Reader) forgetLocked(running []inspect.Inspection) {
	runs := make(map[uint64]identity, len(running))
	for i := range running {
		runs[running[i].ID] = identityOf(&running[i])
	}
	for id, inf := range r.mu.informers {
		if now, is := runs[id]; !is || now != inf.identity {
			r.release(inf)
			delete(r.mu.informers, id)
		}
	}
}

// release releases the ordinal of an informer.
func (r *Reader) release(inf *informer) {
	taken := r.mu.ordinals[inf.identity]
	taken[inf.ordinal] = false
	if !slices.Contains(taken, true) {
		delete(r.mu.ordinals, inf.identity)
	}
}

// ofLocked returns the state for an informer, and creates it if necessary.
func (r *Reader) ofLocked(i *inspect.Inspection) *informer {
	if inf := r.mu.informers[i.ID]; inf != nil {
		return inf
	}
	id := identityOf(i)
	taken := r.mu.ordinals[id]
	ordinal := slices.Index(taken, false)
	if ordinal < 0 {
		ordinal, taken = len(taken), append(taken, false)
	}
	taken[ordinal] = true
	r.mu.ordinals[id] = taken
	inf := newInformer(r.options, id, ordinal)
	r.mu.informers[i.ID] = inf
	return inf
}

// identityOf returns the label values of an informer. Without a resource, the label resource has
// the name of the objects in logs.
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

// labels returns the labels of an informer without ordinal.
func (id identity) labels() *Series {
	return newSeries("name", id.name, "group", id.group, "version", id.version, "resource", id.resource,
		"watched_namespace", id.namespace, "server", id.server)
}

// series returns the labels of an informer.
func (id identity) series(ordinal int) *Series {
	return id.labels().with("ordinal", strconv.Itoa(ordinal))
}
