// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"reflect"
	"strings"

	"github.com/kinformer/cache/internal/decode/scan"
)

// member is a field of a struct, or of one that is embedded in it, by the name that it has in JSON.
type member struct {
	name   string
	field  reflect.StructField
	offset uintptr
	unsure string // why it is not certain what is read into it; empty: it is
}

// membersOf lists what JSON finds in a struct, in the order of the fields. A name that several
// fields have, at whatever depth, is uncertain, although the reference has rules for it. odd
// reports that a name is not one that is known to be used as it is written.
func membersOf(t reflect.Type) (members []member, odd bool) {
	c := &collector{index: map[string]int{}}
	c.collect(t, 0, "", nil)
	return c.members, c.odd
}

type collector struct {
	members []member
	index   map[string]int
	odd     bool
}

func (c *collector) collect(t reflect.Type, offset uintptr, unsure string, above []reflect.Type) {
	for _, outer := range above {
		if outer == t {
			return // embeds itself by a pointer: what is further out wins
		}
	}
	above = append(above, t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, skipped := tagOf(field)
		inner, embedded := embeddedStruct(field)
		c.odd = c.odd || strings.Trim(name, scan.PlainNames) != ""
		switch {
		case skipped || !field.IsExported() && !embedded:
		case embedded && name == "":
			why := unsure
			if field.Type.Kind() == reflect.Pointer {
				why = "a field of a struct that is embedded by a pointer"
			}
			c.collect(inner, offset+field.Offset, why, above)
		case !field.IsExported() && field.Type.Kind() != reflect.Struct:
			c.add(member{name: name, field: field, unsure: "a field of an unexported pointer"})
		default:
			if name == "" {
				name = field.Name
			}
			unsure := doubt(field, options, unsure)
			c.add(member{name: name, field: field, offset: offset + field.Offset, unsure: unsure})
		}
	}
}

func (c *collector) add(m member) {
	if i, exists := c.index[m.name]; exists {
		c.members[i].unsure = "a name that several fields have"
		return
	}
	c.index[m.name] = len(c.members)
	c.members = append(c.members, m)
}

// embeddedStruct returns the struct that a field embeds, perhaps by a pointer.
func embeddedStruct(field reflect.StructField) (reflect.Type, bool) {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, field.Anonymous && t.Kind() == reflect.Struct
}

// tagOf returns a field's name in JSON, or "" if its tag has none.
func tagOf(field reflect.StructField) (name, options string, skipped bool) {
	tag := field.Tag.Get("json")
	name, options, _ = strings.Cut(tag, ",")
	return name, options, tag == "-"
}

// doubt returns why it is not certain what is read into a field, or what is known already.
func doubt(field reflect.StructField, options, known string) string {
	switch {
	case known != "":
		return known
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
