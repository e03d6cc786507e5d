// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"reflect"
	"strings"
)

// member is a field of a struct or of an embedded struct, with its name in JSON.
type member struct {
	name        string
	field       reflect.StructField
	offset      uintptr
	unsupported string // the reason why the field is not supported; "" if it is
}

// membersOf returns the members of a struct in the order of its fields. A name of several fields,
// at any depth, is not supported, although encoding/json has rules for it.
func membersOf(t reflect.Type) []member {
	c := &collector{index: map[string]int{}}
	c.collect(t, 0, "", nil)
	return c.members
}

type collector struct {
	members []member
	index   map[string]int
}

func (c *collector) collect(t reflect.Type, offset uintptr, unsupported string, above []reflect.Type) {
	for _, outer := range above {
		if outer == t {
			return // t embeds itself by a pointer: the outer fields win
		}
	}
	above = append(above, t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, skipped := tagOf(field)
		inner, embedded := embeddedStruct(field)
		switch {
		case skipped || !field.IsExported() && !embedded:
		case embedded && name == "":
			why := unsupported
			if field.Type.Kind() == reflect.Pointer {
				why = "a field of a struct that is embedded by a pointer"
			}
			c.collect(inner, offset+field.Offset, why, above)
		case !field.IsExported() && field.Type.Kind() != reflect.Struct:
			c.add(member{name: name, field: field, unsupported: "a field of an unexported pointer"})
		default:
			if name == "" {
				name = field.Name
			}
			unsupported := doubt(field, options, unsupported)
			c.add(member{name: name, field: field, offset: offset + field.Offset, unsupported: unsupported})
		}
	}
}

func (c *collector) add(m member) {
	if i, exists := c.index[m.name]; exists {
		c.members[i].unsupported = "a name that several fields have"
		return
	}
	c.index[m.name] = len(c.members)
	c.members = append(c.members, m)
}

// embeddedStruct returns the struct that a field embeds, directly or by a pointer.
func embeddedStruct(field reflect.StructField) (reflect.Type, bool) {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, field.Anonymous && t.Kind() == reflect.Struct
}

// tagOf returns the name and options of a field in JSON. The name is "" if the tag does not contain
// one.
func tagOf(field reflect.StructField) (name, options string, skipped bool) {
	tag := field.Tag.Get("json")
	name, options, _ = strings.Cut(tag, ",")
	return name, options, tag == "-"
}

// doubt returns the reason why a field is not supported, or outer, the reason of the embedding
// struct.
func doubt(field reflect.StructField, options, outer string) string {
	switch {
	case outer != "":
		return outer
	case hasOption(options, "string"):
		return "a value in a string"
	case !field.IsExported():
		return "an unexported field with a name"
	}
	return ""
}

func hasOption(options, wanted string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == wanted {
			return true
		}
	}
	return false
}
