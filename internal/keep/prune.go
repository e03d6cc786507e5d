// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Prune removes what f does not keep from obj, a pointer to a struct or an Unstructured. It changes the topmost
// struct or map, and copies what it changes below, because others may share that. A map of which no key remains
// becomes nil, and in an Unstructured is left out, as is an object without members.
func (f *Fields) Prune(obj any) {
	if f == nil {
		return
	}
	if object, ok := obj.(*unstructured.Unstructured); ok {
		if object != nil && object.Object != nil {
			object.Object = f.content(object.Object).(map[string]any)
		}
		return
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		f.prune(v.Elem())
	}
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
		of := f
		if !field.inline {
			of = f.Of(field.name)
		}
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
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		inline := f.Anonymous && name == "" || strings.Contains(options, "inline")
		if name == "" {
			name = f.Name
		}
		all = append(all, field{i, name, inline})
	}
	fields.Store(t, all)
	return all
}
