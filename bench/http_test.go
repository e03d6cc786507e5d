// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kinformer "github.com/kinformer/cache"
	"github.com/kinformer/cache/bench/internal/wire"
)

// runTiny runs a row of HTTP once, tiny.
func runTiny(t *testing.T, sides [2]side, r httpRow) error {
	e := &env{sides: sides, n: tinyObjects, seed: 1, scale: 0.001}
	run := runner{env: e, sides: sides, rounds: 1, progress: io.Discard}
	_, err := run.run(t.Context(), []row{r.row()}, regexp.MustCompile(""))
	return err
}

// TestRowsFailWithoutTheTap: figures of informers that have not decoded by themselves are none.
func TestRowsFailWithoutTheTap(t *testing.T) {
	var all []httpRow
	for _, kind := range []httpKind{httpList, httpPages, httpWatchList, httpWatch} {
		all = append(all, httpRow{encoding: "json", kind: kind, resource: wire.Leases, objects: 20})
	}
	all = append(all, httpRow{encoding: "json", kind: httpWatch, resource: wire.Leases, figures: httpDropped, objects: 20})
	for _, r := range all {
		require.NoError(t, runTiny(t, sides(), r), r.name())
		t.Run(r.name(), func(t *testing.T) {
			t.Setenv("KINFORMER_DIRECT", "off")
			assert.ErrorIs(t, runTiny(t, sides(), r), errNotTapped)
			assert.NoError(t, runTiny(t, controlSides(), r), "client-go twice")
		})
	}
}

// TestRowsOfOptionsAreWhatTheySay: an informer that is to leave managed fields out does, or there
// are no figures.
func TestRowsOfOptionsAreWhatTheySay(t *testing.T) {
	for figures, wrong := range map[httpFigures]httpWay{httpDropped: sharedWay} {
		for _, way := range (httpRow{figures: figures}).ways() {
			h := &httpStage{row: httpRow{encoding: "json", kind: httpList, resource: wire.Leases, figures: figures}, env: &env{}, objects: 200}
			var err error
			h.server, err = wire.Start(t.Context(), wire.Config{Resource: "leases", N: h.objects, Seed: 1, MediaType: wire.JSON, Negotiates: true})
			require.NoError(t, err)
			ran := way
			if way.drops() {
				ran = wrong
			}
			i := tinyInformer(t, h, ran)
			err = h.engaged(sides()[1], i, way)
			assert.Equal(t, ran == way, err == nil, "%s as %s: %v", ran, way, err)
			i.stop()
			require.NoError(t, h.server.Stop())
		}
	}
}

// tinyInformer is one of ours that has all objects.
func tinyInformer(t *testing.T, h *httpStage, way httpWay) *informer {
	lw, err := h.listerWatcher(true)
	require.NoError(t, err)
	example, err := h.example()
	require.NoError(t, err)
	s := sides()[1]
	s.newSharedIndexInformer = kinformer.InformerFunc(kinformer.WithDecoding(way.decoding()))
	i := newInformerOf(s, lw, example, 0, indexers(1))
	require.NoError(t, i.addHandler(0, &counter{}))
	i.expect(h.objects)
	i.start(t.Context())
	require.NoError(t, i.wait(t.Context()))
	return i
}

// TestAllInformersMustEndAlike: the plain one, and each that decodes directly.
func TestAllInformersMustEndAlike(t *testing.T) {
	for _, odd := range []httpWay{tappedWay, sharedWay} {
		h := &httpStage{row: httpRow{resource: wire.Pods}, one: func(_ context.Context, s side, way httpWay) (outcome, error) {
			if way == odd {
				return outcome{check: check{Objects: 3}, samples: []sample{{"CPU", "s", 1}}}, nil
			}
			return outcome{check: check{Objects: 2}, samples: []sample{{"CPU", "s", 1}}}, nil
		}}
		_, err := h.round(t.Context(), sides()[1])
		assert.ErrorIs(t, err, errUnlike)
		_, err = h.round(t.Context(), sides()[0])
		assert.NoError(t, err)
	}
}

// TestRoundsOfOursBeginWithTheOtherInformer: the informers of our side take turns.
func TestRoundsOfOursBeginWithTheOtherInformer(t *testing.T) {
	var order []httpWay
	h := &httpStage{row: httpRow{resource: wire.Leases, figures: httpOpen}, one: func(_ context.Context, _ side, way httpWay) (outcome, error) {
		order = append(order, way)
		return outcome{samples: []sample{{"CPU", "s", 1}}}, nil
	}}
	for range 2 {
		out, err := h.round(t.Context(), sides()[1])
		require.NoError(t, err)
		assert.Equal(t, []sample{{"CPU", "s", 1}, {"tapped, CPU", "s", 1}}, out.samples)
	}
	assert.Equal(t, []httpWay{tappedWay, plainWay, plainWay, tappedWay}, order)
	order = nil
	_, err := h.round(t.Context(), sides()[0])
	require.NoError(t, err)
	assert.Equal(t, []httpWay{plainWay}, order, "client-go has no tap")
}

func TestPagesOfRows(t *testing.T) {
	r := httpRow{kind: httpPages}
	assert.Equal(t, 500, r.page(5000))
	assert.Equal(t, 60, r.page(180))
	assert.Equal(t, 1, r.page(1))
	assert.Zero(t, httpRow{kind: httpList}.page(5000))
}

func TestRowsOfHTTPAreNamedByWhatTheyAre(t *testing.T) {
	var names []string
	for _, r := range httpKinds() {
		names = append(names, r.name())
	}
	all := strings.Join(names, " ")
	assert.Contains(t, all, "http/json-list http/json-pages http/json-watch-list http/json-watch http/protobuf-list")
	assert.Contains(t, all, "http/json-watch-tls http/json-list-open http/protobuf-watch-tls")
	assert.Contains(t, all, "http/unstructured-watch-certificates")
	assert.Contains(t, all, "http/json-watch-dropped http/protobuf-watch-dropped")
}
