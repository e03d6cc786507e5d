// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decode decodes Kubernetes objects from JSON and protobuf directly into Go values. A plan,
// built once per type from its struct tags, drives the decoding. The result is deeply equal to the
// result of client-go's decoder for the same bytes.
//
//	plan, err := decode.PlanOf(reflect.TypeFor[corev1.Pod](), decode.JSON)
//	pod := new(corev1.Pod)
//	err = plan.JSON(data, pod, decode.Options{Intern: table})
//
// Guarantees:
//
//  1. A decoder may give up, but it never guesses. Every error is an [ErrGiveUp] and says nothing
//     about the validity of the data: the caller decodes the data again with client-go's decoder,
//     into a new value. Data that client-go's decoder rejects is given up, except an object whose
//     kind is missing or is not the expected one. The caller must check the TypeMeta.
//  2. The whole input is checked, including members without a field. A syntax error anywhere is
//     given up.
//  3. The value never refers to the input. The caller may reuse the input after the call.
//  4. Types with UnmarshalJSON or UnmarshalText are decoded by these methods, from a copy of the
//     bytes.
//  5. Values may share strings of an [Intern] table. The data of a Secret never enters a table.
//  6. A plan is safe for concurrent use.
//
// Bytes pass through the packages below in this order. Package mem contains all uses of unsafe.
//
//	body → stream → frame or item → json, document, proto → value
//	                                  ↓ tokens      ↓ strings, maps, lists
//	                                 scan          share
//
// The value to decode into must be new: zero, except for defaults of fields that are absent from
// the data.
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
	"github.com/kinformer/cache/internal/keep"
)

// ErrGiveUp is the only error of the decoders. Other errors wrap it.
var ErrGiveUp = scan.ErrGiveUp

// Aliases of types that are documented in the packages below.
type (
	Options  = share.Options
	Intern   = share.Intern
	Parts    = share.Parts
	Sharing  = share.Sharing
	Read     = share.Read
	Written  = share.Written
	Encoding = stream.Encoding
	Frames   = stream.Frames
	Frame    = stream.Frame
	List     = stream.List
	About    = stream.About

	// NoListError reports that a body is no list.
	NoListError = stream.NoListError
	Weak        = mem.Weak
	Former      = proto.Former
	Row         = proto.Row
)

// The encodings of objects on the wire.
const (
	JSON     = stream.JSON
	Protobuf = stream.Protobuf
)

// NewIntern returns a table of strings that holds at most limit bytes.
func NewIntern(limit int64) *Intern { return share.NewIntern(limit) }

// NewParts returns a table of parts that holds at most about limit bytes.
func NewParts(limit int64) *Parts { return share.NewParts(limit) }

// NewSharing returns the state with which one decoder uses a table of parts.
func NewSharing(table *Parts) *Sharing { return share.NewSharing(table) }

// NewFrames splits the body of a watch into frames of at most limit bytes.
func NewFrames(r io.Reader, e Encoding, limit int) *Frames { return stream.NewFrames(r, e, limit) }

// Open parses a frame of a watch.
func Open(frame []byte, e Encoding) (Frame, error) { return stream.Open(frame, e) }

// NewList splits the body of a list into items. See [stream.NewList].
func NewList(r io.Reader, e Encoding, limit int) List { return stream.NewList(r, e, limit) }

// WeakTo returns a weak reference to the value that the pointer obj points to.
func WeakTo(obj any) Weak { return mem.WeakTo(obj) }

// NoList returns the error for a list of another kind.
func NoList(kind string) *NoListError { return stream.NoList(kind) }

// UID returns the UID of an encoded object as a subslice of object, without decoding the object. It
// returns nil if the UID is missing or is not at the position to which servers write it.
func UID(object []byte, e Encoding) []byte {
	if e == JSON {
		return json.UID(object)
	}
	return proto.UID(object)
}

// Namespace is UID for the namespace.
func Namespace(object []byte, e Encoding) []byte {
	if e == JSON {
		return json.Namespace(object)
	}
	return proto.Namespace(object)
}

// Unstructured decodes an object into the content of an Unstructured. It gives up on an object
// without kind or apiVersion, and on an object with items, which client-go decodes as a list.
func Unstructured(data []byte, o Options) (map[string]any, error) {
	return document.Unstructured(data, o)
}

// UnstructuredItem is Unstructured for an item of a list. An item with neither kind nor apiVersion
// gets the given ones.
func UnstructuredItem(data []byte, kind, apiVersion string, o Options) (map[string]any, error) {
	return document.Item(data, kind, apiVersion, o)
}

// Plan decodes values of one type. It is safe for concurrent use. The plan of an encoding is built
// on first use.
type Plan struct {
	json  func() (*json.Plan, error)
	proto func() *proto.Plan
}

// plans caches the plan of each requested type, and of the fields that are decoded: share.Kept → *Plan.
var plans sync.Map

// PlanOf returns the plan of a type, usually a struct. It returns an error if values of the type
// cannot be decoded from the encoding. Plans are cached for the life of the process.
func PlanOf(t reflect.Type, e Encoding) (*Plan, error) { return PlanOfKept(t, e, nil) }

// PlanOfKept is PlanOf for those of the fields that are kept; nil: all. The result is deeply equal to what Prune leaves
// of that of client-go's decoder. Fields that are not kept may have values that client-go's decoder rejects. The plan
// shares parts only with objects of the same plan.
func PlanOfKept(t reflect.Type, e Encoding, of *keep.Fields) (*Plan, error) {
	key := share.Kept{Type: t, Of: of}
	known, ok := plans.Load(key)
	if !ok {
		known, _ = plans.LoadOrStore(key, newPlan(t, of))
	}
	return known.(*Plan).in(t, e)
}

func newPlan(t reflect.Type, of *keep.Fields) *Plan {
	return &Plan{
		json:  sync.OnceValues(func() (*json.Plan, error) { return json.PlanOf(t, of) }),
		proto: sync.OnceValue(func() *proto.Plan { return proto.PlanOf(t, of) }),
	}
}

// in returns the plan if it decodes values of an encoding.
func (plan *Plan) in(t reflect.Type, e Encoding) (*Plan, error) {
	if e == Protobuf && t != nil && t.Kind() == reflect.Struct {
		return plan, nil
	}
	if _, err := plan.json(); err != nil {
		return nil, err
	}
	return plan, nil
}

// JSON decodes a document into *into, a new value of the plan's type.
func (p *Plan) JSON(data []byte, into any, o Options) error {
	plan, err := p.json()
	if err != nil {
		return fmt.Errorf("%w: %v", scan.ErrGiveUp, err)
	}
	return plan.Read(data, into, o)
}

// Protobuf decodes a message into *into, a new value of the plan's type. The message is the Object
// of a [Frame] or an item of a list.
func (p *Plan) Protobuf(data []byte, into any, o Options) error { return p.proto().Read(data, into, o) }

// Update is Protobuf for a new version of the former object. If of is zero, there is no former
// object. See [proto.Plan.Update].
func (p *Plan) Update(data []byte, into any, of Former, o Options) (Row, error) {
	return p.proto().Update(data, into, of, o)
}
