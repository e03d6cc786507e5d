// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"cmp"
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
		if object == nil {
			return
		}
		if kept, less := f.members(object.Object); less {
			object.Object = kept
		}
		return
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		f.pruned(v.Elem(), true)
	}
}

// content returns what f keeps of a value without a Go type, and whether that is less than the value.
func (f *Fields) content(of any) (kept any, less bool) {
	if f.all {
		return of, false
	}
	switch v := of.(type) {
	case map[string]any:
		return f.members(v)
	case []any:
		for i := range v {
			if elem, is := f.content(v[i]); is {
				if !less {
					v, less = slices.Clone(v), true
				}
				v[i] = elem
			}
		}
		return v, less
	}
	return of, false
}

func (f *Fields) members(of map[string]any) (kept map[string]any, less bool) {
	kept = map[string]any{} // and no clone, which would have the size of all members
	for name, value := range of {
		child := f.Of(name)
		if child == nil {
			less = true
			continue
		}
		value, is := child.content(value)
		if members, object := value.(map[string]any); object && len(members) == 0 && !child.all {
			less = true
			continue
		}
		kept[name], less = value, less || is
	}
	if !less {
		return of, false
	}
	return kept, true
}

// within returns what is kept of a field of a struct.
func (f *Fields) within(part field) *Fields {
	if part.inline {
		return f
	}
	return f.Of(part.name)
}

// pruned returns what f keeps of v, and whether that is less than v. If own is set, a struct v is changed, and otherwise
// copied.
func (f *Fields) pruned(v reflect.Value, own bool) (kept reflect.Value, less bool) {
	switch {
	case f == nil:
		return reflect.Zero(v.Type()), !v.IsZero()
	case f.all:
	case v.Kind() == reflect.Struct:
		return f.prunedStruct(v, own)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		if to, less := f.pruned(v.Elem(), false); less {
			kept = reflect.New(to.Type())
			kept.Elem().Set(to)
			return kept, true
		}
	case v.Kind() == reflect.Slice:
		return f.prunedSlice(v)
	case v.Kind() == reflect.Map:
		return f.prunedMap(v)
	}
	return v, false
}

func (f *Fields) prunedStruct(v reflect.Value, own bool) (kept reflect.Value, less bool) {
	for _, field := range fieldsOf(v.Type()) {
		part, is := f.within(field).pruned(v.FieldByIndex(field.index), own)
		if !is {
			continue
		}
		if less = true; !own {
			copied := reflect.New(v.Type()).Elem()
			copied.Set(v)
			v, own = copied, true
		}
		v.FieldByIndex(field.index).Set(part)
	}
	return v, less
}

func (f *Fields) prunedSlice(v reflect.Value) (kept reflect.Value, less bool) {
	for i := range v.Len() {
		elem, is := f.pruned(v.Index(i), less)
		if !is {
			continue
		}
		if !less {
			v, less = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v), true
		}
		v.Index(i).Set(elem)
	}
	return v, less
}

func (f *Fields) prunedMap(v reflect.Value) (kept reflect.Value, less bool) {
	kept, less = reflect.Zero(v.Type()), !v.IsNil() && v.Len() == 0
	for key, value := range v.Seq2() {
		child := f.Of(key.String())
		if child == nil {
			less = true
			continue
		}
		value, is := child.pruned(value, false)
		if less = less || is; kept.IsNil() {
			kept = reflect.MakeMap(v.Type())
		}
		kept.SetMapIndex(key, value)
	}
	if !less {
		return v, false
	}
	return kept, true
}

// field is a field of a struct, or of a struct in it, as encoding/json sees it.
type field struct {
	index  []int
	name   string
	inline bool // it is a pointer, and the fields behind it are those of the struct
}

var fields sync.Map // reflect.Type → []field

// fieldsOf returns the fields of a struct that have a JSON name, and the pointers that are inline. Those of the struct
// itself are before those of inline structs.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inline := IsInline(f)
		switch {
		case inline && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case f.Tag.Get("json") != "-" && f.IsExported():
			all = append(all, field{[]int{i}, cmp.Or(name, f.Name), inline})
		}
	}
	slices.SortStableFunc(all, func(a, b field) int { return len(a.index) - len(b.index) })
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
