// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/tap"
)

// carryOthers are the subresources whose PUT carries something else than the object.
var carryOthers = []string{"scale", "proxy", "exec", "attach", "portforward", "log", "binding", "eviction", "token"}

// Refuse returns an error for a PUT of an object that an informer may have decoded in part: one without managed fields,
// which objects of live requests have, if an informer's store has a partial object of that name. It reads the body, if
// that is so, and sets it again. It is safe for concurrent use.
func Refuse(req *http.Request) error {
	if req.Method != http.MethodPut || req.URL == nil || req.Body == nil {
		return nil
	}
	path := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	for at := range path { // the path before the API may have any words
		p, known := placeOf(req.URL.Host, path[:at], path[at:])
		if !known {
			continue
		}
		if informer, partial := partialIn(p); partial {
			return refuse(req, p, informer)
		}
	}
	return nil
}

// placeOf returns the object of a path that begins with api or apis, unless its body is something else.
func placeOf(host string, before, path []string) (p place, known bool) {
	switch {
	case path[0] == "api" && len(path) > 3:
		path = path[2:]
	case path[0] == "apis" && len(path) > 4:
		p.resource.Group, path = path[1], path[3:]
	default:
		return p, false
	}
	if len(path) > 3 && path[0] == "namespaces" {
		p.namespace, path = path[1], path[2:]
	}
	p.server = strings.Join(append([]string{host}, before...), "/")
	p.resource.Resource, p.name = path[0], path[1]
	return p, len(path) == 2 || !slices.Contains(carryOthers, path[2])
}

// refuse returns an error unless the body is an object of a live request, or something else.
func refuse(req *http.Request, p place, informer tap.Target) error {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return err
	}
	why := whyPartial(body, p.name)
	if why == "" {
		return nil
	}
	return fmt.Errorf("the update of %v is refused: its body %s, and the informer of %v has only the fields of Decoding.Keep, so that the others "+
		"would be removed: change an object that a live Get has returned, or send a patch. If the client removes managedFields, or nobody "+
		"writes objects of the informer, set Decoding.PartialWrites", p, why, informer)
}

// whyPartial returns what makes a body one that may have been decoded in part, or "". A body without the name is not that
// of the object.
func whyPartial(body []byte, name string) string {
	var object metav1.PartialObjectMetadata
	var err error
	if enveloped, is := bytes.CutPrefix(body, []byte("k8s\x00")); is {
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(enveloped); err == nil {
			err = object.Unmarshal(envelope.Raw) // its other fields are skipped
		}
	} else {
		err = asMetadata(body, &object)
	}
	switch {
	case err != nil:
		return "cannot be read"
	case len(object.ManagedFields) > 0 || object.Name != name:
		return ""
	}
	return "has no managedFields"
}

// asMetadata reads the name and the number of managed fields of an object in JSON or CBOR.
func asMetadata(body []byte, object *metav1.PartialObjectMetadata) error {
	unmarshal, content := kjson.Unmarshal, map[string]any{}
	if bytes.HasPrefix(body, []byte("\xd9\xd9\xf7")) {
		unmarshal = cbor.Unmarshal
	}
	if err := unmarshal(body, &content); err != nil {
		return err
	}
	object.Name, _, _ = unstructured.NestedString(content, "metadata", "name")
	fields, _, _ := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	list, _ := fields.([]any)
	object.ManagedFields = make([]metav1.ManagedFieldsEntry, len(list))
	return nil
}

// guarded has the ledgers of the informers with a guard. It does not keep them in memory: an informer is guarded as
// long as a program has it, and the objects in its store, also after its end.
var guarded struct {
	sync.Mutex
	ledgers []weak.Pointer[tap.Ledger]
}

// guard is what must be known of an informer so that no partial object of it is written.
type guard struct {
	kept   *keep.Rule
	stored func(namespace, name string) (obj any, exists bool)
}

// guards reports whether objects like example, of an informer of these options, must not be written when they are
// partial. Objects of metadata cannot be.
func (o *Options) guards(example any) bool {
	_, metadata := example.(*metav1.PartialObjectMetadata)
	return o.kept != nil && o.Stored != nil && !metadata
}

// protect adds the informer of a ledger, once.
func protect(l *tap.Ledger, by guard) {
	l.Held.Store(by)
	guarded.Lock()
	defer guarded.Unlock()
	known := slices.DeleteFunc(guarded.ledgers, func(w weak.Pointer[tap.Ledger]) bool { at := w.Value(); return at == nil || at == l })
	guarded.ledgers = append(known, weak.Make(l))
}

// place is an object of a server.
type place struct {
	server          string // see tap.Target.Server
	resource        schema.GroupResource
	namespace, name string
}

// String returns the place without the server.
func (p place) String() string {
	if p.namespace == "" {
		return fmt.Sprintf("%s of %v", p.name, p.resource)
	}
	return fmt.Sprintf("%s/%s of %v", p.namespace, p.name, p.resource)
}

// partialIn returns the target of an informer in whose store the object of a place is partial.
func partialIn(p place) (of tap.Target, is bool) {
	guarded.Lock()
	ledgers := slices.Clone(guarded.ledgers)
	guarded.Unlock()
	for _, w := range ledgers {
		l := w.Value()
		if l == nil {
			continue
		}
		target := l.Target()
		if target.Server != p.server || target.Resource.GroupResource() != p.resource {
			continue
		}
		by := l.Held.Load().(guard)
		if obj, exists := by.stored(p.namespace, p.name); exists && !by.kept.IsWhole(obj) {
			return target, true
		}
	}
	return tap.Target{}, false
}
