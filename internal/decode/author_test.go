// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// author writes documents that a type could be read from, but for what is odd in them.
type author struct {
	bytes.Buffer
	r   *rand.Rand
	odd int // one thing in so many is odd; 0: none
}

func (a *author) oddly() bool { return a.odd > 0 && a.r.IntN(a.odd) == 0 }

func (a *author) pick(from ...string) { a.WriteString(from[a.r.IntN(len(from))]) }

func (a *author) space() {
	if a.r.IntN(30) == 0 {
		a.pick(" ", "\n", "\t", "\r", "  \n")
	}
}

func document(r *rand.Rand, t reflect.Type, odd int) []byte {
	a := &author{r: r, odd: odd}
	a.value(t, 0)
	return a.Bytes()
}

var oddValues = []string{
	"null", "true", "false", "0", "-0", "-1", "1.0", "1.5", "1e3", "1E-2", "01", "-", "1.", ".5", "+1", "1e400", "-1e400", "1e", "0x1",
	"127", "128", "-128", "-129", "255", "256", "32768", "2147483647", "2147483648", "-2147483649", "4294967296",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"18446744073709551616", "100000000000000000000000000", "3.4e39", "1e-400", `""`, `"x"`, `"null"`, `"1"`, `"\u0041"`, `"\ud83d\ude00"`,
	`"\ud800"`, `"\ud800A"`, `"\udc00"`, `"\u12"`, `"\x"`, `"\'"`, "\"\xff\"", "\"\xe2\x82\"", "\"\x01\"", "\"\x7f\"", "\"\u2028\"",
	`"a`, "[]", "[null]", "[1,2]", `["a"]`, "[[]]", "{}", `{"a":null}`, `{"a":1}`, `{"a":{"b":[]}}`, "[1,]", `{"a":1,}`, `{,}`, "{a:1}",
	`{"a"}`, `{"a":}`, "nul", "nulll", "truefalse", "tru", "NaN", "Infinity", "undefined", `"2026-01-05T08:00:50Z"`, `"1Gi"`, "",
	"\v1", "/*c*/1", "\u00a01", "[" + strings.Repeat("[", 600) + strings.Repeat("]", 601), strings.Repeat(`{"a":`, 490) + "1" + strings.Repeat("}", 490),
}

func (a *author) value(t reflect.Type, depth int) {
	a.space()
	switch {
	case a.oddly():
		a.pick(oddValues...)
	case a.r.IntN(40) == 0 && a.odd > 0 && depth > 0:
		a.WriteString("null")
	case !a.known(t):
		a.byKind(t, depth)
	}
	a.space()
}

var (
	timeTexts = []string{`"2026-01-05T08:00:50Z"`, `"2024-02-29T23:59:59Z"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T00:00:00Z"`,
		`"1970-01-31T00:00:00Z"`, `"2026-01-05T08:00:50+02:00"`, `"2026-01-05T08:00:50.123456789Z"`, `"2026-01-05T8:00:50Z"`}
	oddTimes = []string{`"2026-02-29T00:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"2026-13-01T00:00:00Z"`, `"2026-00-01T00:00:00Z"`, `"2026-01-00T00:00:00Z"`,
		`"2026-01-05T24:00:00Z"`, `"2026-01-05T08:60:00Z"`, `"2026-01-05T08:00:60Z"`, `"2026-01-05t08:00:50z"`, `"2026-01-05 08:00:50Z"`, `"2026-01-05"`, `""`,
		`"2026-01-05T08:00:50\u005a"`, `"2026-01-05T08:00:5\u0030Z"`, `"2026-01-05T08:00:50,5Z"`, `"2026-01-05T08:00:50+25:00"`, `1767600050`}
	quantities = []string{`"100m"`, `"1Gi"`, `"0"`, `"1.5"`, `"-3k"`, `"+7"`, `"1e3"`, `"123456789012345678901234567890"`, `"0.1n"`, `" 1 "`, `5`, `1.5`, `-2`,
		`"1000000Ki"`, `"9223372036854775807"`, `1e3`}
	oddQuantities = []string{`""`, `"1\u0030"`, `"ten"`, `true`, `"1 0"`, `{}`, `"1Zi"`, `"1\n"`, "\"1\u00a0\"", `"--1"`}
)

// known writes values of types that read themselves.
func (a *author) known(t reflect.Type) bool {
	odd := a.oddly()
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[ownJSONBehind]():
		if odd {
			a.pick(oddTimes...)
		} else if t == reflect.TypeFor[metav1.MicroTime]() {
			a.pick(`"2026-01-05T08:00:50.123456Z"`, `"2026-01-05T08:00:50.000000+01:00"`)
		} else {
			a.pick(timeTexts...)
		}
	case reflect.TypeFor[resource.Quantity]():
		if odd {
			a.pick(oddQuantities...)
		} else {
			a.pick(quantities...)
		}
	case reflect.TypeFor[metav1.Duration]():
		a.pick(`"1h"`, `"0s"`, `"1m30.5s"`)
	case reflect.TypeFor[intstr.IntOrString]():
		a.pick(`"http"`, `"50%"`, `80`, `-1`, `""`)
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[metav1.FieldsV1]():
		a.anything(3)
	case reflect.TypeFor[metav1.GroupVersion]():
		a.pick(`"v1"`, `"apps/v1"`)
	default:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			a.anything(3)
			return true
		}
		if t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return false
		}
		a.text()
	}
	return true
}

func (a *author) byKind(t reflect.Type, depth int) {
	switch t.Kind() {
	case reflect.Pointer:
		a.value(t.Elem(), depth)
	case reflect.Struct:
		a.members(t, depth)
	case reflect.Slice, reflect.Array:
		a.list(t, depth)
	case reflect.Map:
		a.mapping(t, depth)
	case reflect.Interface:
		a.anything(3)
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			a.pick("1", "1.5", `"2"`)
		} else {
			a.text()
		}
	case reflect.Bool:
		a.pick("true", "false")
	case reflect.Float32, reflect.Float64:
		a.pick("0", "1.5", "-2e-3", "3.4028235e38", "16777217", "0.1")
	case reflect.Int8, reflect.Uint8:
		a.pick("0", "1", "127", "12")
	default:
		a.pick("0", "1", "42", "32767", "-0")
	}
}

func (a *author) text() {
	a.pick(`""`, `"a"`, `"Running"`, `"node.kubernetes.io/not-ready"`, `"é"`, `"日本語"`, `"a\"b"`, `"\\\/\b\f\n\r\t"`, `"caf\u00e9"`, `"\ud83d\ude00!"`,
		strconv.Quote(strings.Repeat("long ", a.r.IntN(60))), fmt.Sprintf(`"text-%d"`, a.r.IntN(1000)), `"<&>"`)
	if a.oddly() {
		a.Truncate(a.Len() - 1)
		a.pick("\xff\"", `\ud800"`, "\x00\"", "\"", `\"`, "\u2029\"")
	}
}

func (a *author) list(t reflect.Type, depth int) {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice && !a.oddly() {
		a.pick(`""`, `"YQ=="`, `"YWI="`, `"YWJj"`, `"YWJjZA=="`, `"YWJj\nZA=="`)
		if a.oddly() {
			a.pick(`"YQ"`, `"YR=="`, `"Y-_="`)
		}
		return
	}
	a.WriteByte('[')
	for i := range a.count(depth) {
		if i > 0 {
			a.WriteByte(',')
		}
		a.value(t.Elem(), depth+1)
	}
	a.WriteByte(']')
}

// count is how many elements there are at a depth.
func (a *author) count(depth int) int {
	if depth > 10 {
		return 0
	}
	return max(0, a.r.IntN(5)-1)
}

func (a *author) mapping(t reflect.Type, depth int) {
	a.WriteByte('{')
	for i := range a.count(depth) {
		if i > 0 {
			a.WriteByte(',')
		}
		switch {
		case t.Key().Kind() != reflect.String:
			fmt.Fprintf(a, `"%d"`, a.r.IntN(5))
		case a.oddly():
			a.text()
		default:
			fmt.Fprintf(a, `"key-%d"`, a.r.IntN(20))
		}
		a.space()
		a.WriteByte(':')
		a.value(t.Elem(), depth+1)
	}
	a.WriteByte('}')
}

// members writes a struct: some of its fields, in their order as a rule.
func (a *author) members(t reflect.Type, depth int) {
	var fields []member
	for _, m := range namesOf(t, nil) {
		if a.r.IntN(depth+2) == 0 || depth == 0 && a.r.IntN(3) > 0 {
			fields = append(fields, m)
		}
	}
	if a.r.IntN(4) == 0 {
		a.r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	if len(fields) > 0 && a.oddly() {
		fields = append(fields, fields[a.r.IntN(len(fields))])
	}
	a.WriteByte('{')
	for i, m := range fields {
		if i > 0 {
			a.WriteByte(',')
		}
		a.member(m, depth)
		if depth < 2 && a.oddly() {
			a.WriteByte(',')
			a.pick(oddKinds...)
		}
	}
	a.WriteByte('}')
}

// oddKinds are members that client-go may take for the kind or apiVersion of an object, and others.
var oddKinds = []string{`"Kind":"A"`, `"KIND":1`, `"kind":1`, `"kind":null`, `"kind":"A"`, `"\u006bind":"A"`, `"\u212aind":"A"`, "\"\u212aind\":[]",
	`"APIVersion":"a/v2"`, `"apiversion":null`, `"apiVersion":{}`, `"apiVersion":"a/b/v1"`, `"apiVersion":"a\/b\u002fv1"`, "\"apiVer\u017fion\":true",
	`"kinds":1`, `"api_version":1`, `"kin\u0000":1`}

func (a *author) member(m member, depth int) {
	switch {
	case a.oddly():
		a.text()
		a.WriteByte(':')
		a.anything(3)
		return
	case a.oddly():
		fmt.Fprintf(a, "%q", strings.ToUpper(m.name[:1])+m.name[1:])
	case a.oddly():
		fmt.Fprintf(a, `"\u%04x%s"`, m.name[0], m.name[1:])
	default:
		fmt.Fprintf(a, "%q", m.name)
	}
	a.space()
	a.WriteByte(':')
	a.value(m.field.Type, depth+1)
}

// namesOf lists the fields of a struct and of those embedded in it, as a reader of the tags would
// write them.
func namesOf(t reflect.Type, above []reflect.Type) (list []member) {
	if len(above) > 4 {
		return nil
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			list = append(list, namesOf(inner, append(above, t))...)
		case name == "":
			list = append(list, member{name: field.Name, field: field})
		default:
			list = append(list, member{name: name, field: field})
		}
	}
	return list
}

// anything writes any document.
func (a *author) anything(depth int) {
	kind := a.r.IntN(12)
	switch {
	case a.oddly():
		a.pick(oddValues...)
	case kind < 2 && depth > 0:
		a.mapping(reflect.TypeFor[map[string]any](), 10-depth)
	case kind < 4 && depth > 0:
		a.list(reflect.TypeFor[[]any](), 10-depth)
	case kind < 6:
		a.text()
	case kind < 8:
		a.pick("0", "-1", "7", "255", "256", "9223372036854775807", "9223372036854775808", "-0", "123456789012345678")
	case kind < 10:
		a.pick("1.5", "1.0", "1e3", "-0.0", "1E+2")
	default:
		a.pick("true", "false", "null")
	}
}
