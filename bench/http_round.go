// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/wire"
)

// httpStage is a server with what a row asks of it.
type httpStage struct {
	row     httpRow
	env     *env
	server  *wire.Server
	objects int
	body    []byte // what is decoded alone
	rounds  int    // of our side

	one func(context.Context, side, httpWay) (outcome, error) // runOne
}

// httpWay is how an informer of ours decodes: its name stands before its
// figures.
type httpWay string

const (
	plainWay  httpWay = ""       // as its client does
	tappedWay httpWay = "tapped" // directly
	sharedWay httpWay = "shared" // directly, and equal parts of objects are one

	// The same two without managed fields.
	droppedWay       httpWay = "dropped"
	droppedSharedWay httpWay = "dropped and shared"
)

// ways are those of a row.
func (r httpRow) ways() []httpWay {
	switch r.figures {
	case httpOpen:
		return []httpWay{plainWay, tappedWay}
	case httpDropped:
		return []httpWay{tappedWay, droppedWay, sharedWay, droppedSharedWay}
	}
	return []httpWay{plainWay, tappedWay, sharedWay}
}

func (w httpWay) shares() bool {
	return w == sharedWay || w == droppedSharedWay
}

func (w httpWay) drops() bool { return w == droppedWay || w == droppedSharedWay }

// decoding are the options of an informer.
func (w httpWay) decoding() kinformer.Decoding {
	d := kinformer.Decoding{}
	if w.shares() {
		d.Share = kinformer.ShareEqual
	}
	if w.drops() {
		d.Drop = []string{"metadata.managedFields"}
	}
	return d
}

func httpTrial(ctx context.Context, e *env, r httpRow) (trial, error) {
	e.drop() // or collections of garbage would be rare, by the objects of other rows
	h := &httpStage{row: r, env: e, objects: max(20, e.ops(r.objects))}
	h.one = h.runOne
	var err error
	h.server, err = wire.Start(ctx, wire.Config{
		Resource: r.resource.ID(), N: h.objects, Seed: e.seed, MediaType: r.mediaType(),
		Page: r.page(h.objects), TLS: r.tls, Narrow: r.figures == httpOpen,
	})
	if err != nil {
		return nil, err
	}
	e.atEnd = append(e.atEnd, h.server.Stop)
	if r.decodedAlone() {
		if h.body, err = h.server.Bytes(ctx, r.kind.bytes); err != nil {
			return nil, err
		}
	}
	return h.round, nil
}

// errUnlike says that our informers did not end alike.
var errUnlike = errors.New("an informer that decodes directly ends in another state")

// round runs the informers of a side: of ours, which of them begins changes from
// round to round.
func (h *httpStage) round(ctx context.Context, s side) (outcome, error) {
	var out outcome
	if h.row.decodedAlone() {
		decoding, err := h.decodeAlone()
		if err != nil {
			return out, err
		}
		out.shown = []sample{{"decoded", "objects", float64(h.objects)}, {"decoding alone, CPU", "us/object", h.each(decoding)}}
	}
	ends, err := h.runAll(ctx, s)
	if err != nil {
		return out, err
	}
	out.check = ends[0].check
	for i := range ends[0].samples {
		for way, end := range ends {
			if end.check != out.check {
				return out, fmt.Errorf("%w: %+v, as its client does %+v", errUnlike, end.check, out.check)
			}
			figure := end.samples[i]
			if name := h.row.ways()[way]; name != plainWay {
				figure.name = string(name) + ", " + figure.name
			}
			out.samples = append(out.samples, figure)
		}
	}
	return out, nil
}

// runAll runs the informers of a side, one for each way; of client-go's there is
// one, which is taken for all.
func (h *httpStage) runAll(ctx context.Context, s side) (ends []outcome, err error) {
	ways := h.row.ways()
	ends = make([]outcome, len(ways))
	if s.status == nil {
		ends[0], err = h.one(ctx, s, plainWay)
		for i := range ends {
			ends[i] = ends[0]
		}
		return ends, err
	}
	h.rounds++
	for i := range ends {
		which := (i + h.rounds) % len(ways)
		if ends[which], err = h.one(ctx, s, ways[which]); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

func (h *httpStage) each(total time.Duration) float64 {
	return float64(total) / float64(h.objects) / float64(time.Microsecond)
}

// runOne runs one informer.
func (h *httpStage) runOne(ctx context.Context, s side, way httpWay) (outcome, error) {
	lw, err := h.listerWatcher(way != plainWay)
	if err != nil {
		return outcome{}, err
	}
	example, err := h.example()
	if err != nil {
		return outcome{}, err
	}
	if way != plainWay {
		s.newSharedIndexInformer = kinformer.InformerFunc(kinformer.WithDecoding(way.decoding()))
	}
	i := newInformerOf(s, lw, example, 0, indexers(1))
	defer i.stop()
	release, err := h.addHandlers(i)
	defer release()
	if err != nil {
		return outcome{}, err
	}
	if _, err := h.server.Open(ctx); err != nil { // from here on
		return outcome{}, err
	}
	samples, err := h.figures(ctx, i, lw)
	if err != nil {
		return outcome{}, err
	}
	if s.status != nil {
		if err := h.engaged(s, i, way); err != nil {
			return outcome{}, err
		}
	}
	release()
	state, err := i.finish()
	return outcome{check: state, samples: samples}, err
}

// addHandlers adds one that counts, and where that is asked for one that is stuck
// in the first update until release is called, which may be called again.
func (h *httpStage) addHandlers(i *informer) (release func(), err error) {
	stuck := make(chan struct{})
	release = sync.OnceFunc(func() { close(stuck) })
	if h.row.figures == httpHeld {
		_, err = i.AddEventHandler(clientgo.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { <-stuck }})
	}
	return release, errors.Join(err, i.addHandler(0, &counter{}))
}

// figures starts the informer, has it updated where that is asked for, and
// returns what the last of the two took. The watch is open then.
func (h *httpStage) figures(ctx context.Context, i *informer, lw *httpListerWatcher) ([]sample, error) {
	i.expect(h.objects)
	start := func() error {
		i.start(ctx)
		return i.wait(ctx)
	}
	if h.row.figures == httpPeak {
		return h.heap(start)
	}
	usage, err := h.env.measure(start)
	if err != nil {
		return nil, err
	}
	select {
	case <-lw.watching:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h.row.figures == httpOpen {
		open, err := h.server.Open(ctx)
		return append([]sample{{"open, wall", "us/object", h.each(open)}}, h.times(usage)...), err
	}
	feed := func() error {
		i.expect(h.objects)
		if err := h.server.Feed(ctx); err != nil {
			return err
		}
		return i.wait(ctx)
	}
	if h.row.figures == httpHeld {
		before := measure.LiveHeap()
		err := feed()
		held := float64(measure.LiveHeap()) - float64(before)
		return []sample{{"held", "B/update", held / float64(h.objects)}}, err
	}
	if h.row.kind.updates {
		usage, err = h.env.measure(feed)
	}
	return append(h.times(usage), sample{"allocated", "B/object", float64(usage.Bytes) / float64(h.objects)}), err
}

func (h *httpStage) times(u measure.Usage) []sample {
	return []sample{{"CPU", "us/object", h.each(u.CPU)}, {"wall", "us/object", h.each(u.Wall)}}
}

// heap returns what the heap comes to meanwhile, and what is kept.
func (h *httpStage) heap(start func() error) ([]sample, error) {
	course, err := measure.WatchHeap(courseGCPercent, start)
	if err != nil {
		return nil, err
	}
	kept := float64(measure.LiveHeap()) - float64(course.Base)
	return []sample{
		{"peak", "B/object", course.Beyond(course.Base) / float64(h.objects)},
		{"kept", "B/object", kept / float64(h.objects)},
	}, nil
}

var (
	errNotTapped = errors.New("the tap did not engage")
	errTapped    = errors.New("the tap engaged where it should not")
)

// engaged returns an error if the informer did not decode what came itself, but
// for what goes both ways: the first and the last of each answer, the first 8, one in
// 16 of the first 1,000, and one in many later. Without the tap it must not have decoded anything.
func (h *httpStage) engaged(s side, i *informer, way httpWay) error {
	status, err := s.status(i.SharedIndexInformer)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	decoding := status.Decoding
	if way == plainWay {
		if decoding.On || decoding.Direct != 0 {
			return fmt.Errorf("%w: %+v", errTapped, decoding)
		}
		return nil
	}
	came := h.objects
	if h.row.kind.updates {
		came *= 2
	}
	bothWays := 16 + min(came, 1000)/16 + came/100
	if !decoding.On || decoding.Differences != 0 || len(decoding.GivenUp) > 0 || int(decoding.Direct) < came-bothWays {
		return fmt.Errorf("%w: %d objects came, and its state is %+v", errNotTapped, came, decoding)
	}
	if shares := decoding.Parts.Hits > 0; way.shares() && !shares {
		return fmt.Errorf("%w: nothing was shared: %+v", errNotTapped, decoding)
	}
	return h.dropped(i, way)
}

// dropped returns an error if objects have managed fields that should have none,
// or the other way round.
func (h *httpStage) dropped(i *informer, way httpWay) error {
	if h.row.figures != httpDropped {
		return nil
	}
	for _, obj := range i.GetStore().List() {
		object, err := meta.Accessor(obj)
		if err != nil {
			return fmt.Errorf("store holds %T: %w", obj, err)
		}
		if has := len(object.GetManagedFields()) > 0; has == way.drops() {
			return fmt.Errorf("%w: %s has managed fields: %t", errNotTapped, object.GetName(), has)
		}
	}
	return nil
}

// decodedAtLeast is the CPU time for which an answer is decoded again and
// again: CPU time is counted in coarse steps.
const decodedAtLeast = 100 * time.Millisecond

// decodeAlone is the CPU time that decoding the answer takes client-go's
// decoders.
func (h *httpStage) decodeAlone() (time.Duration, error) {
	var total time.Duration
	for times := 1; ; times++ {
		measure.Settle()
		usage, err := measure.Region(h.decode)
		if err != nil {
			return 0, err
		}
		if total += usage.CPU; total >= decodedAtLeast || times >= 50 {
			return total / time.Duration(times), nil
		}
	}
}

func (h *httpStage) decode() error {
	decode := wire.DecodeStream
	if h.row.kind.bytes == "list" {
		decode = wire.DecodeList
	}
	decoded, err := decode(h.body, h.row.mediaType())
	if err == nil && len(decoded) < h.objects {
		err = fmt.Errorf("%d of %d objects decoded", len(decoded), h.objects)
	}
	return err
}
