// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/reflector"
)

// mutations looks for writes to the cached objects of an informer.
type mutations struct {
	detector  MutationDetector
	enabled   bool // the detector is not one that does nothing
	report    *reflector.Journal
	processor *fanout.Processor
}

// detectsMutations is whether client-go's detectors look for changes. Like client-go, it reads the variable once, at start.
var detectsMutations, _ = strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))

// run runs the detector, which panics when it finds a modified object. Before the panic continues, the log
// names the handlers that may have modified the object.
func (m *mutations) run(ctx context.Context) {
	found := true
	defer func() {
		if found {
			m.logSuspects(klog.FromContext(ctx))
		}
	}()
	m.detector.Run(ctx.Done())
	found = false
}

// watch passes objects that entered the store to the detector, and those of a resync, because the detector
// forgets an object after some minutes.
func (m *mutations) watch(changes []event.Change) {
	if !m.enabled {
		return
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.New != nil:
			m.detector.AddObject(c.New)
		case c.Many != nil:
			c.Many.Keyed = true // it is read here, before it is known who needs keys
			for j := range c.Many.Len() {
				m.detector.AddObject(c.Many.At(j))
			}
		}
	}
}

var errWrittenTo = errors.New("a caller has modified cached objects")

// logSuspects logs which handlers may have written to cached objects. Removed handlers are missing.
func (m *mutations) logSuspects(logger klog.Logger) {
	logger.Error(errWrittenTo, "The mutation detector has found a change, made by one of these handlers or by a reader of the store",
		"informer", m.report.Name(), "oneOf", m.suspects())
	klog.Flush() // the process ends
}

// suspects returns the handlers of the informer. If its objects share parts, so may those of other
// informers, whose handlers are included.
func (m *mutations) suspects() []string {
	names := handlersOf(m.processor, m.report.Name())
	for _, running := range door.Running.All() {
		other := door.Of(running)
		if other.Report != m.report && other.Processor != nil && m.report.SharesParts() && other.Report.SharesParts() {
			names = append(names, handlersOf(other.Processor, other.Report.Name())...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func handlersOf(processor *fanout.Processor, resource string) (names []string) {
	for _, handler := range processor.Figures() {
		names = append(names, handler.Name+" of "+resource)
	}
	return names
}
