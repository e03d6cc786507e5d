// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

// sample is what was read of a resource, to be decoded again and again.
type sample struct {
	objects int   // that were read
	total   int64 // that there are
	more    bool  // and the server does not say how many
	events  int   // of a watch

	plain  clientgo.ListerWatcherWithContext // decoded by client-go
	tapped *tap.Source                       // the same, decoded directly
	ledger *tap.Ledger
}

// fewEvents are the least that tell something.
const fewEvents = 30

// newSample takes a list apart. There is none without objects.
func newSample(r resource, body []byte) (*sample, error) {
	list, err := decoded(r, body)
	if err != nil {
		return nil, err
	}
	objects, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return nil, errors.New("the answer is no list")
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, errors.New("the answer is no list")
	}
	s := &sample{objects: len(objects), total: int64(len(objects)), ledger: &tap.Ledger{}}
	if remaining := accessor.GetRemainingItemCount(); remaining != nil {
		s.total += *remaining
	} else {
		s.more = accessor.GetContinue() != ""
	}
	if s.objects == 0 {
		return s, nil
	}
	return s, s.replayed(r, body, objects)
}

// replayed makes the server in memory, and clients for it.
func (s *sample) replayed(r resource, body []byte, objects []runtime.Object) error {
	media := mediaTypeOf(body)
	frames, err := framesOf(r, objects, media)
	if err != nil {
		return err
	}
	size := 0
	for _, frame := range frames {
		size += len(frame)
	}
	s.events = min(effort.events, max(fewEvents, effort.eventBytes*len(frames)/size))
	server := &replay{media: media, list: body, frames: frames, events: s.events}
	lw, example, err := server.listerWatcher(r)
	if err != nil {
		return err
	}
	s.plain, s.tapped = lw, tap.New(lw, example, tap.Options{Ledger: s.ledger})
	return nil
}

// decoded returns the list that client-go's decoder makes of a body.
func decoded(r resource, body []byte) (list runtime.Object, err error) {
	if r.hasGoType() {
		list, err = runtime.Decode(scheme.Codecs.UniversalDeserializer(), body)
	} else {
		list, err = runtime.Decode(unstructured.UnstructuredJSONScheme, body)
	}
	if err != nil { // which may have parts of the body
		return nil, fmt.Errorf("client-go cannot decode the list, with an error of type %T", err)
	}
	return list, nil
}
