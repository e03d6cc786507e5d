// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"slices"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
)

// detectMutations runs the detector of mutations. When that finds one it panics, and does not know
// who it was: before the panic goes on, as it is, the log names who may have been.
func (s *sharedIndexInformer) detectMutations(ctx context.Context) {
	found := true
	defer func() {
		if found {
			s.logSuspects(klog.FromContext(ctx))
		}
	}()
	s.mutationDetector.Run(ctx.Done())
	found = false
}

var errWrittenTo = errors.New("somebody has written to cached objects")

// logSuspects logs which handlers may have written to cached objects.
func (s *sharedIndexInformer) logSuspects(logger klog.Logger) {
	logger.Error(errWrittenTo, "The mutation detector has found a change, made by one of these handlers or by who reads the store",
		"informer", s.resource, "oneOf", s.suspects())
	klog.Flush() // the process ends
}

// suspects returns the handlers that were called; those of all informers whose objects share parts,
// if this one's do.
func (s *sharedIndexInformer) suspects() (names []string) {
	for _, running := range append(door.Running.All(), s) {
		other, ok := running.(*sharedIndexInformer)
		if !ok || other != s && !(s.sharesParts() && other.sharesParts()) {
			continue
		}
		for _, handler := range other.processor.Called() {
			names = append(names, handler+" of "+other.resource)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sharesParts reports whether objects of the informer may have parts that others have, too.
func (s *sharedIndexInformer) sharesParts() bool {
	decoding := s.report.Status().Decoding
	return decoding.Shares && decoding.Decoded > 0
}

// watchForMutations shows the detector what has come into the store.
func (s *sharedIndexInformer) watchForMutations(changes []event.Change) {
	for i := range changes {
		switch c := &changes[i]; {
		case c.New != nil:
			s.mutationDetector.AddObject(c.New)
		case c.Many != nil && (c.Kind == event.ChangeAdd || c.Many.Formers != nil):
			for j := range c.Many.Len() {
				s.mutationDetector.AddObject(c.Many.At(j))
			}
		}
	}
}
