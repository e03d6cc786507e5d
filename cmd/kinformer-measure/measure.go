// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/testkit/cputime"
)

// atLeast is the minimum CPU time of one measurement.
var atLeast = 40 * time.Millisecond

// fewest is the minimum number of objects for a measurement: with fewer, the fixed cost of a list
// dominates.
const fewest = 20

// decoder decodes a list. left is the number of objects that it leaves to client-go.
type decoder func() (list any, objects, left int, err error)

// nothing returns the cells of a resource that cannot be measured, up to its notes.
func (c *cluster) nothing() string { return strings.Repeat("-\t", len(c.heads())-2) }

// measure requests the list of a resource, decodes it with each decoder, and returns the cells of its
// row.
func (c *cluster) measure(ctx context.Context, r resource) string {
	body, err := c.list(ctx, r)
	if err != nil {
		return c.nothing() + err.Error()
	}
	s := &sample{resource: r, body: body, encoding: "json"}
	switch {
	case !r.hasGoType():
		s.encoding = "unstructured"
	case bytes.HasPrefix(body, []byte("k8s\x00")):
		s.encoding = "protobuf"
	}
	_, objects, _, err := s.byClient()
	switch {
	case err != nil:
		return c.nothing() + fmt.Sprintf("client-go cannot decode the list, with an error of type %T", err)
	case objects == 0:
		return c.nothing() + "no objects"
	}
	direct := s.direct(decode.Options{Intern: decode.NewIntern(16 << 20)})
	shared := s.direct(decode.Options{Intern: decode.NewIntern(16 << 20), Share: decode.NewSharing(decode.NewParts(64 << 20))})
	notes := ""
	switch _, _, left, err := direct(); {
	case err != nil:
		direct, shared, notes = s.byClient, s.byClient, "client-go decodes the list"
	case left > 0:
		notes = fmt.Sprintf("left to client-go, %.1f %% of the objects", 100*float64(left)/float64(objects))
	}
	cells := []string{fmt.Sprint(objects), s.encoding, fmt.Sprint(len(body) / objects)}
	ways := []decoder{s.byClient, direct, shared}
	if rule := c.rules[r]; rule != nil {
		s.rule = rule
		way, note := s.kept()
		ways, notes = append(ways, way), strings.TrimPrefix(notes+"; "+note, "; ")
	}
	for _, figure := range []func(decoder, int) string{cpu, heap} {
		for _, way := range ways {
			cell := "-"
			if objects >= fewest {
				cell = figure(way, objects)
			}
			cells = append(cells, cell)
		}
	}
	return strings.Join(append(cells, notes), "\t")
}

// sample is the encoded list of a resource.
type sample struct {
	resource
	body     []byte
	encoding string
	rule     *keep.Rule // what is kept by kept
}

// byClient decodes the list with client-go's decoder.
func (s *sample) byClient() (list any, objects, left int, err error) {
	var by kruntime.Decoder = unstructured.UnstructuredJSONScheme
	if s.hasGoType() {
		by = scheme.Codecs.UniversalDeserializer()
	}
	decoded, err := kruntime.Decode(by, s.body)
	if err != nil {
		return nil, 0, 0, err
	}
	return decoded, meta.LenList(decoded), 0, nil
}

// direct returns a decoder that decodes the list as informers with package direct do.
func (s *sample) direct(o decode.Options) decoder {
	return s.each(func(item []byte) (any, error) { return s.item(item, o, nil) })
}

// kept returns a decoder of the fields that are kept, and a note about the objects that are whole.
func (s *sample) kept() (decoder, string) {
	o := decode.Options{Intern: decode.NewIntern(16 << 20)}
	way := s.each(func(item []byte) (object any, err error) {
		if object, err = s.item(item, o, s.rule.Fields); err == nil && s.rule.IsWhole(object) {
			object, err = s.item(item, o, nil)
		}
		return object, err
	})
	list, _, left, err := way()
	all, _ := list.([]any)
	whole := 0
	for _, object := range all {
		if object != nil && s.rule.IsWhole(object) {
			whole++
		}
	}
	switch {
	case err != nil:
		return s.byClient, "the client decodes the list, with the fields that are not kept"
	case left > 0:
		return way, fmt.Sprintf("left to client-go with KEEP: %d", left)
	case s.rule.Whole == nil:
		return way, ""
	}
	return way, fmt.Sprintf("%d of %d objects are whole", whole, len(all))
}

// each returns a decoder of a list whose items are decoded by one.
func (s *sample) each(one func(item []byte) (any, error)) decoder {
	return func() (list any, objects, left int, err error) {
		var all []any
		from := decode.NewList(bytes.NewReader(s.body), decode.Encoding(s.encoding), largestAnswer)
		for {
			item, err := from.Next()
			switch {
			case errors.Is(err, io.EOF):
				return all, len(all), left, nil
			case err != nil:
				return nil, 0, 0, err
			}
			object, err := one(item)
			if err != nil {
				left++
			}
			all = append(all, object)
		}
	}
}

// item decodes an object, of which the fields of are kept; nil: all.
func (s *sample) item(data []byte, o decode.Options, of *keep.Fields) (any, error) {
	if !s.hasGoType() {
		o.Keep = of
		content, err := decode.UnstructuredItem(data, s.kind, s.GroupVersion().String(), o)
		return &unstructured.Unstructured{Object: content}, err
	}
	object, err := scheme.Scheme.New(s.gvk())
	if err != nil {
		return nil, err
	}
	plan, err := decode.PlanOfKept(reflect.TypeOf(object).Elem(), decode.Encoding(s.encoding), of)
	if err != nil {
		return nil, err
	}
	if s.encoding == "protobuf" {
		return object, plan.Protobuf(data, object, o)
	}
	return object, plan.JSON(data, object, o)
}

// cpu returns the median of three measurements of the CPU time for one object, in microseconds.
func cpu(decode decoder, objects int) string {
	var all []float64
	for range 3 {
		runtime.GC()
		before, err := cputime.Used()
		n, spent := 0, time.Duration(0)
		for ; err == nil && spent < atLeast; n += objects {
			_, _, _, _ = decode()
			now, failed := cputime.Used()
			spent, err = now-before, failed
		}
		all = append(all, float64(spent.Microseconds())/float64(max(1, n)))
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f", all[1])
}

// heap returns the bytes of one object in memory, including its part of shared data.
func heap(decode decoder, objects int) string {
	var before, after runtime.MemStats
	collected(&before)
	decoded, _, _, _ := decode()
	collected(&after)
	runtime.KeepAlive(decoded)
	return fmt.Sprint((int64(after.HeapAlloc) - int64(before.HeapAlloc)) / int64(objects))
}

// collected reads the memory statistics after two collections, of which the second empties pools.
func collected(m *runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(m)
}
