// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Check returns why a path names nothing of a type of objects, with a path that may be meant, or "".
func Check(t reflect.Type, path string) (why string) {
	steps, ok := Steps(path)
	if !ok {
		return "it is no path: use names with dots between them, and keys of maps in brackets, as in metadata.annotations[example.com/x]"
	}
	done := ""
	for _, step := range steps {
		t, why = member(element(t), done, step, strings.TrimPrefix(path, joined(done, step)))
		if why != "" {
			return why
		}
		done = joined(done, step)
	}
	return ""
}

// element returns the type that a path goes into: that of the elements of a list, or of what a pointer points to.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && !DecodesItself(t) {
		t = t.Elem()
	}
	return t
}

func joined(done string, step Step) string {
	switch {
	case step.IsKey:
		return done + "[" + step.Name + "]"
	case done == "":
		return step.Name
	}
	return done + "." + step.Name
}

// member returns the type of a member, or why there is none.
func member(t reflect.Type, done string, step Step, rest string) (of reflect.Type, why string) {
	switch {
	case DecodesItself(t):
		return nil, fmt.Sprintf("%s is read by a decoder of its own (%v): keep the whole of it", done, t)
	case t.Kind() == reflect.Map && t.Key().Kind() != reflect.String:
		return nil, fmt.Sprintf("%s is a map whose keys are no strings: keep the whole of it", done)
	case t.Kind() == reflect.Map && step.IsKey:
		return t.Elem(), ""
	case t.Kind() == reflect.Map && !hasMembers(element(t.Elem())) && !strings.Contains(rest, "["):
		return nil, fmt.Sprintf("%s is a map: did you mean %s?", done, joined(done, Step{step.Name + rest, true})) // a key with dots
	case t.Kind() == reflect.Map:
		return nil, fmt.Sprintf("%s is a map: did you mean %s?", done, joined(done, Step{step.Name, true})+rest)
	case t.Kind() != reflect.Struct:
		return nil, fmt.Sprintf("%s has no fields: it is a %v", done, t)
	case step.IsKey:
		return nil, fmt.Sprintf("%s is no map: did you mean %s?", done, joined(done, Step{step.Name, false})+rest)
	}
	names := namesOf(t, map[string]reflect.Type{})
	if of = names[step.Name]; of != nil {
		return of, ""
	}
	best, distance := "", len(step.Name)/2+2
	for name := range names {
		if d := distanceOf(strings.ToLower(name), strings.ToLower(step.Name)); d < distance || d == distance && name < best {
			best, distance = name, d
		}
	}
	why = fmt.Sprintf("there is no %s", joined(done, step))
	if best != "" {
		why += fmt.Sprintf(": did you mean %s?", joined(done, Step{best, false})+rest)
	}
	return nil, why
}

// hasMembers reports whether a path may go on below a value of a type.
func hasMembers(t reflect.Type) bool {
	return (t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Interface) && !DecodesItself(t)
}

// namesOf adds the members of a struct, with those of inline fields, by their JSON names. Of two with one name, the outer
// one counts.
func namesOf(t reflect.Type, names map[string]reflect.Type, above ...reflect.Type) map[string]reflect.Type {
	if slices.Contains(above, t) {
		return names // it embeds itself
	}
	var inner []reflect.Type
	for _, f := range fieldsOf(t) {
		of := t.FieldByIndex(f.index).Type
		if !f.inline {
			if names[f.name] == nil {
				names[f.name] = of
			}
			continue
		}
		inner = append(inner, of.Elem())
	}
	for _, of := range inner {
		namesOf(of, names, append(above, t)...)
	}
	return names
}

var (
	jsonMethod = reflect.TypeFor[json.Unmarshaler]()
	textMethod = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// DecodesItself reports whether values of a type are decoded by a method of the type, so that nothing is known about
// their parts. It is false for pointers and interfaces.
func DecodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(jsonMethod) || reflect.PointerTo(t).Implements(textMethod)
}

// distanceOf returns the number of characters to insert, remove or replace that makes b of a.
func distanceOf(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
