// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Prune removes what f does not keep from obj, a pointer to a struct or an Unstructured. It changes the topmost
// struct or map, and copies what it changes below, because others may share that. It writes nothing if there is nothing to
// remove. A map of which no key remains becomes nil, and in an Unstructured is left out, as is an object without members.
func (f *Fields) Prune(obj any) {
	if f == nil {
		return
	}
	if object, ok := obj.(*unstructured.Unstructured); ok {
		if object != nil && object.Object != nil && !f.hasContent(object.Object) {
			object.Object = f.content(object.Object).(map[string]any)
		}
		return
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct && !f.has(v.Elem()) {
		f.prune(v.Elem())
	}
}

// hasContent reports whether a value without a Go type has nothing but what f keeps.
func (f *Fields) hasContent(of any) bool {
	if f.all {
		return true
	}
	switch v := of.(type) {
	case map[string]any:
		for name, value := range v {
			child := f.Of(name)
			if child == nil || !child.hasContent(value) {
				return false
			}
			if members, is := value.(map[string]any); is && len(members) == 0 && !child.all {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(value any) bool { return !f.hasContent(value) })
	}
	return true
}

// has reports whether a value has nothing but what f keeps.
func (f *Fields) has(v reflect.Value) bool {
	switch {
	case f.all:
	case v.Kind() == reflect.Struct:
		for _, field := range fieldsOf(v.Type()) {
			if of := f.within(field); of == nil && !v.Field(field.index).IsZero() || of != nil && !of.has(v.Field(field.index)) {
				return false
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return f.has(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if !f.has(v.Index(i)) {
				return false
			}
		}
	case v.Kind() == reflect.Map:
		for key, value := range v.Seq2() {
			if child := f.Of(key.String()); child == nil || !child.has(value) {
				return false
			}
		}
		return v.IsNil() || v.Len() > 0
	}
	return true
}

// within returns what is kept of a field of a struct.
func (f *Fields) within(part field) *Fields {
	if part.inline {
		return f
	}
	return f.Of(part.name)
}

// content returns what f keeps of a value without a Go type.
func (f *Fields) content(of any) any {
	switch v := of.(type) {
	case map[string]any:
		if f.all {
			return of
		}
		kept := map[string]any{}
		for name, value := range v {
			child := f.Of(name)
			if child == nil {
				continue
			}
			value = child.content(value)
			if members, is := value.(map[string]any); !is || len(members) > 0 || child.all {
				kept[name] = value
			}
		}
		return kept
	case []any:
		if f.all {
			return of
		}
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = f.content(v[i])
		}
		return kept
	}
	return of
}

// prune removes what f does not keep from v, which may be set.
func (f *Fields) prune(v reflect.Value) {
	switch {
	case f.all:
	case v.Kind() == reflect.Struct:
		f.pruneStruct(v)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		copied := reflect.New(v.Type().Elem())
		copied.Elem().Set(v.Elem())
		f.prune(copied.Elem())
		v.Set(copied)
	case v.Kind() == reflect.Slice && !v.IsNil():
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			f.prune(copied.Index(i))
		}
		v.Set(copied)
	case v.Kind() == reflect.Map:
		f.pruneMap(v)
	}
}

func (f *Fields) pruneMap(v reflect.Value) {
	kept := reflect.Zero(v.Type())
	for key, value := range v.Seq2() {
		child := f.Of(key.String())
		if child == nil {
			continue
		}
		if kept.IsNil() {
			kept = reflect.MakeMap(v.Type())
		}
		copied := reflect.New(value.Type()).Elem()
		copied.Set(value)
		child.prune(copied)
		kept.SetMapIndex(key, copied)
	}
	v.Set(kept)
}

func (f *Fields) pruneStruct(v reflect.Value) {
	for _, field := range fieldsOf(v.Type()) {
		of := f.within(field)
		switch part := v.Field(field.index); {
		case of == nil:
			part.SetZero()
		case field.inline && part.Kind() == reflect.Pointer && part.IsNil():
		default:
			of.prune(part)
		}
	}
}

// field is a field of a struct, as encoding/json sees it.
type field struct {
	index  int
	name   string
	inline bool // its fields are those of the struct
}

var fields sync.Map // reflect.Type → []field

// fieldsOf returns the fields of a struct that have a JSON name, and those that are inline.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		inline := IsInline(f)
		if f.Tag.Get("json") == "-" || !f.IsExported() && !(inline && f.Type.Kind() == reflect.Struct) {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		all = append(all, field{i, name, inline})
	}
	fields.Store(t, all)
	return all
}

// IsInline reports whether the fields of a field are in JSON those of the struct, as encoding/json sees it.
func IsInline(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return f.Anonymous && name == "" && t.Kind() == reflect.Struct
}
