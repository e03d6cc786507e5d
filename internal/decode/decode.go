// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decode reads Kubernetes objects from JSON and protobuf straight into Go values, by a plan
// that is made once per type from its struct tags. What it returns is deeply equal to what
// client-go's decoder would have made of the same bytes.
//
//	plan, err := decode.PlanOf(reflect.TypeFor[corev1.Pod](), decode.JSON)
//	pod := new(corev1.Pod)
//	err = plan.JSON(data, pod, decode.Options{Intern: table})
//
// What it promises:
//
//  1. It may give up, it may not guess. Any error is [ErrGiveUp], and says nothing about the data:
//     the caller decodes it once more with client-go's decoder, into a new value, and whether it is
//     bad is that one's judgement. Everything that client-go's decoder refuses is given up, but for
//     an object of another kind, or of none, than the caller has asked for: see its TypeMeta.
//  2. The whole input is checked, also what no field takes: a syntax error anywhere is given up.
//  3. The value never refers to the input, which may be written to as soon as the call returns.
//  4. Types with UnmarshalJSON or UnmarshalText are read by these methods, which get a copy of the
//     bytes.
//  5. Strings may be shared between values by an [Intern] table, but none from the data of a
//     Secret.
//  6. Any number of goroutines may use a plan at a time.
//
// The packages below: scan reads what needs no types, json, document and proto make values, share
// has the tables, stream cuts bodies, and mem is where unsafe is.
//
// A value must be new: zero, but for what the caller wants to find in fields that are not in the
// data.
package decode

import (
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/kinformer/cache/internal/decode/document"
	"github.com/kinformer/cache/internal/decode/json"
	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/proto"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/decode/stream"
)

// ErrGiveUp is the only error of the decoders.
var ErrGiveUp = scan.ErrGiveUp

// The packages below have the documentation of these types.
type (
	Options  = share.Options
	Intern   = share.Intern
	Parts    = share.Parts
	Sharing  = share.Sharing
	Written  = share.Written
	Encoding = stream.Encoding
	Frames   = stream.Frames
	Frame    = stream.Frame
	List     = stream.List
	Weak     = mem.Weak
	Former   = proto.Former
	Row      = proto.Row
)

// How objects are written on the wire.
const (
	JSON     = stream.JSON
	Protobuf = stream.Protobuf
)

// NewIntern makes a table of texts, of at most that many bytes.
func NewIntern(limit int64) *Intern { return share.NewIntern(limit) }

// NewParts makes a table of parts, of at most about that many bytes.
func NewParts(limit int64) *Parts { return share.NewParts(limit) }

// NewSharing returns the use of a table of parts by a decoder.
func NewSharing(table *Parts) *Sharing { return share.NewSharing(table) }

// NewFrames cuts the body of a watch into frames of at most that many bytes.
func NewFrames(r io.Reader, e Encoding, limit int) *Frames { return stream.NewFrames(r, e, limit) }

// Open takes a frame of a watch apart.
func Open(frame []byte, e Encoding) (Frame, error) { return stream.Open(frame, e) }

// NewList cuts the body of a list into items of at most that many bytes.
func NewList(r io.Reader, e Encoding, limit int) List { return stream.NewList(r, e, limit) }

// WeakTo refers to the value that obj, a pointer, points to.
func WeakTo(obj any) Weak { return mem.WeakTo(obj) }

// UID returns the UID of an object, as a part of the data, before anything is decoded; nil if it is not
// where servers write it.
func UID(object []byte, e Encoding) []byte {
	if e == JSON {
		return json.UID(object)
	}
	return proto.UID(object)
}

// Unstructured reads an object as unstructured objects have it. An object without kind and
// apiVersion is given up, and one that has items, of which client-go makes a list.
func Unstructured(data []byte, o Options) (map[string]any, error) {
	return document.Unstructured(data, o)
}

// UnstructuredItem is Unstructured for an item of a list. An item that has neither kind nor
// apiVersion is given these.
func UnstructuredItem(data []byte, kind, apiVersion string, o Options) (map[string]any, error) {
	return document.Item(data, kind, apiVersion, o)
}

// Plan reads values of one type. Any number of goroutines may use it at a time. What an encoding needs
// is made when that is first used.
type Plan struct {
	json  func() (*json.Plan, error)
	proto func() *proto.Plan
}

// plans has the plan of each type that was asked for: reflect.Type → *Plan.
var plans sync.Map

// PlanOf returns the plan of a type, which is a struct as a rule, or the reason why values of the type are not
// read from an encoding. A type has one plan, which is kept.
func PlanOf(t reflect.Type, e Encoding) (*Plan, error) {
	known, ok := plans.Load(t)
	if !ok {
		known, _ = plans.LoadOrStore(t, &Plan{
			json:  sync.OnceValues(func() (*json.Plan, error) { return json.PlanOf(t) }),
			proto: sync.OnceValue(func() *proto.Plan { return proto.PlanOf(t) }),
		})
	}
	plan := known.(*Plan)
	if e == Protobuf && t != nil && t.Kind() == reflect.Struct {
		return plan, nil
	}
	if _, err := plan.json(); err != nil {
		return nil, err
	}
	return plan, nil
}

// JSON reads a document into the value that into points to, which is new and of the plan's type.
func (p *Plan) JSON(data []byte, into any, o Options) error {
	plan, err := p.json()
	if err != nil {
		return fmt.Errorf("%w: %v", scan.ErrGiveUp, err)
	}
	return plan.Read(data, into, o)
}

// Protobuf reads a message into the value that into points to, which is new and of the plan's type.
// It is the Object of a [Frame], or an item of a list.
func (p *Plan) Protobuf(data []byte, into any, o Options) error { return p.proto().Read(data, into, o) }

// Update is Protobuf for another version of a former object, if that is not zero: see [proto.Plan].
func (p *Plan) Update(data []byte, into any, of Former, o Options) (Row, error) {
	return p.proto().Update(data, into, of, o)
}
