// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/stream"
)

type trap struct {
	name    string
	data    string
	decoded bool
}

// spring compares the data of each trap, inserted in form, with client-go's result.
func spring(t *testing.T, d format, of reflect.Type, form string, traps []trap) {
	t.Helper()
	for _, trap := range traps {
		data := fmt.Appendf(nil, form, trap.data)
		assert.Equal(t, trap.decoded, d.same(t, of, data, Options{Intern: NewIntern(0)}), "%s: %s", trap.name, trap.data)
	}
}

// TestTrapsOfMembers checks that decoded objects equal those of client-go.
func TestTrapsOfMembers(t *testing.T) {
	spring(t, inJSON, reflect.TypeFor[corev1.Pod](), `%s`, []trap{
		{"empty", `{}`, true},
		{"spaces", " \t\r\n{ \"metadata\" :\n{\t\"name\"\r: \"a\" , \"labels\" : { } } }\n", true},
		{"other case", `{"Metadata":{"name":"a"},"metadata":{"Name":"a","LABELS":{"a":"b"}}}`, true},
		{"escape in a name", `{"met\u0061data":{"n\u0061me":"a"}}`, true},
		{"unknown members", `{"x":{"metadata":{"name":["a",{"b":1e5}]}},"y":null,"z":[[],{},"\ud800"],"x":1}`, true},
		{"other order", `{"status":{"phase":"Running"},"spec":{"nodeName":"n"},"metadata":{"uid":"u","name":"a"}}`, true},
		{"twice", `{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}`, false},
		{"twice, once escaped", `{"metadata":{"name":"a","n\u0061me":"b"}}`, false},
		{"twice, null", `{"metadata":{"name":"a","name":null}}`, false},
		{"twice in a map", `{"metadata":{"labels":{"a":"1","a":"2"}}}`, true},
		{"null object", `null`, false},
		{"null struct", `{"metadata":null,"spec":null}`, true},
		{"null pointer, list and map", `{"metadata":{"labels":null,"ownerReferences":null,"deletionTimestamp":null}}`, true},
		{"null text and number", `{"metadata":{"name":null,"generation":null}}`, true},
		{"null in a list", `{"spec":{"containers":[null,{"name":"a"},null]}}`, true},
		{"null in a list of texts", `{"metadata":{"finalizers":[null,"a"]}}`, true},
		{"null in a map", `{"metadata":{"labels":{"a":null}}}`, true},
		{"empty list and map", `{"metadata":{"labels":{},"ownerReferences":[],"finalizers":[ ]}}`, true},
		{"text for a struct", `{"metadata":"a"}`, false},
		{"list for a struct", `{"metadata":[]}`, false},
		{"struct for a list", `{"spec":{"containers":{}}}`, false},
		{"number for a text", `{"metadata":{"name":1}}`, false},
		{"bool for a text", `{"metadata":{"name":true}}`, false},
		{"text for a bool", `{"spec":{"hostNetwork":"true"}}`, false},
		{"comma at the end", `{"metadata":{},}`, false},
		{"two commas", `{"metadata":{},,"spec":{}}`, false},
		{"no comma", `{"metadata":{}"spec":{}}`, false},
		{"missing colon", `{"metadata"{}}`, false},
		{"no end", `{"metadata":{}`, false},
		{"two objects", `{}{}`, false},
		{"other white space", "{\v}", false},
		{"byte order mark", "\ufeff{}", false},
		{"comment", `{/**/}`, false},
		{"nothing", ``, false},
		{"white space alone", ` `, false},
		{"error in what is unknown", `{"x":{"y":[01]}}`, false},
		{"control character in what is unknown", "{\"x\":\"\n\"}", false},
		{"bad escape in what is unknown", `{"x":"\u00g0"}`, false},
		{"error in managed fields", `{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},}}]}}`, false},
		{"managed fields as they are", `{"metadata":{"managedFields":[{"fieldsV1": {"f:a" : { } } },{"fieldsV1":null},{"fieldsV1":[1]}]}}`, true},
	})
}

// Types whose fields for kind and apiVersion are not strings of these names.
type (
	kindOfNumber struct{ Kind int }
	kindOfOwn    struct {
		Kind shouted `json:"kind"`
	}
	kindOfAny struct {
		Kind any `json:"kind"`
	}
	kindBeside struct {
		metav1.TypeMeta
		Second string `json:"KIND"`
	}
	kindOfVersion struct {
		APIVersion []string `json:"apiVersion"`
	}
)

// TestTrapsOfKinds checks that objects with kind or apiVersion in an unusual spelling or type are
// given up, whatever fields the type has, because client-go reads these members itself. In nested
// objects they are ordinary members.
func TestTrapsOfKinds(t *testing.T) {
	type kindless struct {
		Spec map[string]string `json:"spec"`
	}
	isDecoded := func(of reflect.Type, data string, decoded bool) {
		d := inJSON
		if of == nil {
			d = inDocuments
		}
		spring(t, d, of, `%s`, []trap{{fmt.Sprint(of), data, decoded}})
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[kindless](), reflect.TypeFor[rootMap](), reflect.TypeFor[map[string]string](), reflect.TypeFor[hearing](),
		reflect.TypeFor[runtime.RawExtension](), nil,
	} {
		for odd, decoded := range map[string]bool{
			`"kinds":"B"`: true, `"kin":"B"`: true, `"":"B"`: true, `"api_version":"B"`: true, `"apiVersion2":"B"`: true, `"K\u0131nd":"B"`: true, // none of them is a spelling of kind
			`"Kind":"B"`: false, `"KIND":"B"`: false, `"kInd":null`: false, `"Kind":1`: false, `"\u004bind":"B"`: false, `"\u212aind":"B"`: false,
			"\"\u212aind\":\"B\"": false, `"APIVersion":"b/v1"`: false, `"apiversion":null`: false, "\"apiVer\u017fion\":\"b/v1\"": false,
		} {
			for _, data := range []string{`{"kind":"A","apiVersion":"a/v1",` + odd + `}`, `{` + odd + `,"apiVersion":"a/v1","kind":"A"}`} {
				isDecoded(of, data, decoded)
			}
		}
		for data, decoded := range map[string]bool{
			`{"kind":1,"apiVersion":"a/v1"}`: false, `{"kind":"A","apiVersion":{}}`: false, `{"kind":"A","apiVersion":"a/b/v1"}`: false,
			`{"kind":"A","apiVersion":"a\/b\u002fv1"}`: false, `{"kind":1,"kind":"A","apiVersion":"a/v1"}`: false, `{"k\u0069nd":[],"apiVersion":"a/v1"}`: false,
			`{"kind":"A","apiVersion":"a\/v1"}`: true, `{"k\u0069nd":"A","apiVersion":"v1"}`: true, `{"kind":"A","apiVersion":"`: false, `{"kind":"A","apiVersion":"\`: false,
		} {
			isDecoded(of, data, decoded)
		}
	}
	for of, data := range map[reflect.Type]string{
		reflect.TypeFor[kindOfNumber](): `{"Kind":1}`, reflect.TypeFor[kindOfOwn](): `{"kind":1}`, reflect.TypeFor[kindOfAny](): `{"kind":1}`,
		reflect.TypeFor[kindBeside](): `{"kind":"A","KIND":"B"}`, reflect.TypeFor[kindOfVersion](): `{"apiVersion":["a"]}`,
	} {
		isDecoded(of, data, false)
	}
	isDecoded(reflect.TypeFor[corev1.Pod](), `{"metadata":{"Kind":1,"kind":2,"ownerReferences":[{"Kind":"A","apiVersion":"a/b/c"}]},"spec":{"KIND":[]}}`, true)
	isDecoded(nil, `{"kind":"A","apiVersion":"v1","spec":{"kind":1,"Kind":2,"apiVersion":"a/b/c"}}`, true)
}

// TestTrapsOfDepth checks that documents beyond the limit are given up. client-go's limit is
// 10,000.
func TestTrapsOfDepth(t *testing.T) {
	for _, depth := range []int{10, scan.Deepest - 10, scan.Deepest + 1, 10001} { // deeper ones contain parts of those before
		decoded := depth < scan.Deepest
		nested := strings.Repeat(`{"a":[`, depth/2) + strings.Repeat(`]}`, depth/2)
		spring(t, inJSON, reflect.TypeFor[widgetSpec](), `%s`, []trap{
			{"unknown", `{"unknown":` + nested + `}`, decoded},
			{"any", `{"any":` + nested + `}`, decoded},
			{"itself", strings.Repeat(`{"next":`, depth) + `null` + strings.Repeat(`}`, depth), decoded},
		})
		spring(t, inDocuments, nil, `{"apiVersion":"a/v1","kind":"A","spec":%s}`, []trap{
			{"document", strings.Repeat("[", depth) + strings.Repeat("]", depth), decoded},
		})
	}
}

func TestTrapsOfTexts(t *testing.T) {
	spring(t, inJSON, reflect.TypeFor[metav1.ObjectMeta](), `{"name":%[1]s,"labels":{%[1]s:%[1]s},"finalizers":[%[1]s]}`, []trap{
		{"plain", `"abcdefghijklmnop"`, true},
		{"empty", `""`, true},
		{"escapes", `"\"\\\/\b\f\n\r\t"`, true},
		{"apostrophe", `"\'"`, false},
		{"unicode escapes", `"\u0041\u00e9\u65e5\u0000\uFFFD"`, true},
		{"pair of surrogates", `"\ud83d\ude00 and \uD83D\uDE00"`, true},
		{"half a pair", `"\ud83d"`, false},
		{"half a pair before a letter", `"\ud83d\u0041"`, false},
		{"second half first", `"\ude00\ud83d"`, false},
		{"short escape", `"\u12"`, false},
		{"unknown escape", `"\x41"`, false},
		{"UTF-8", `"日本語 é 😀"`, true},
		{"not UTF-8", "\"a\xff\"", false},
		{"half a letter", "\"\xe6\x97\"", false},
		{"letter halved by an escape", "\"\xc3\\u00a9\"", false},
		{"UTF-16 in UTF-8", "\"\xed\xa0\xbd\"", false},
		{"delete", "\"\x7f\"", true},
		{"tab", "\"\t\"", false},
		{"zero byte", "\"\x00\"", false},
		{"no end", `"abc`, false},
		{"escaped end", `"abc\"`, false},
	})
}

func TestTrapsOfNumbers(t *testing.T) {
	for field, largest := range map[string]string{"i8": "127", "i16": "32767", "i32": "2147483647", "i64": "9223372036854775807"} {
		spring(t, inJSON, reflect.TypeFor[widgetStatus](), `{"`+field+`":%s}`, []trap{
			{"zero", `0`, true}, {"minus zero", `-0`, true}, {"largest", largest, true}, {"smallest", "-" + largest, true},
			{"smaller", "-" + strings.TrimSuffix(largest, "7") + "8", true},
			{"too small", "-" + strings.TrimSuffix(largest, "7") + "9", false}, {"too large", strings.TrimSuffix(largest, "7") + "8", false},
			{"leading zero", `01`, false}, {"minus and leading zero", `-01`, false}, {"point", `1.0`, false}, {"exponent", `1e0`, false},
			{"plus", `+1`, false}, {"text", `"1"`, false}, {"far too large", strings.Repeat("9", 30), false}, {"minus", `-`, false},
			{"two", `1 2`, false}, {"hexadecimal", `0x1`, false}, {"underscore", `1_0`, false}, {"bool", `true`, false},
		})
	}
	for field, largest := range map[string]string{"u8": "255", "u16": "65535", "u32": "4294967295", "u64": "18446744073709551615"} {
		spring(t, inJSON, reflect.TypeFor[widgetStatus](), `{"`+field+`":%s}`, []trap{
			{"largest", largest, true}, {"too large", largest + "0", false}, {"minus", `-1`, false}, {"minus zero", `-0`, false},
			{"point", `1.0`, false},
		})
	}
	for _, field := range []string{"f32", "f64"} {
		spring(t, inJSON, reflect.TypeFor[widgetStatus](), `{"`+field+`":%s}`, []trap{
			{"point", `0.1`, true}, {"exponent", `-1.5e+10`, true}, {"minus zero", `-0.0`, true}, {"tiny", `1e-400`, true},
			{"too large", `1e400`, false}, {"no digit before the point", `.5`, false}, {"no digit behind it", `1.`, false},
			{"no digit in the exponent", `1e`, false}, {"infinity", `Infinity`, false}, {"large", `123456789012345678901234567890`, true},
		})
	}
	spring(t, inJSON, reflect.TypeFor[widgetStatus](), `{"f32":%s}`, []trap{{"too large", `3.5e38`, false}, {"rounded", `16777217`, true}})
}

func TestTrapsOfOddTypes(t *testing.T) {
	spring(t, inJSON, reflect.TypeFor[odd](), `{%s}`, []trap{
		{"own method", `"upper":"a","upperP":"b","uppers":["c",null,"d"]`, true},
		{"own method refuses", `"upper":1`, false},
		{"own method and null", `"hears":null,"hearsL":[null],"hearsM":{"a":null}`, true},
		{"own method behind a pointer and null", `"hearsP":null,"upperP":null`, true},
		{"own method and any value", `"hears":{"a": [1, 2] },"hearsL":[1.50,"\u0041"],"hearsP":[ ]`, true},
		{"own method and an error within", `"hears":{"a":[1,]}`, false},
		{"text method that keeps what it is given", `"keeps":"a","keepsL":["b","\u0041"]`, true},
		{"text method", `"byText":"a","byTextP":"\u0041","byTexts":{"a":"b"},"loud":"x","loudP":"y"`, true},
		{"text method and null", `"byText":null,"byTextP":null,"byTexts":{"a":null},"loud":null`, true},
		{"text method and an object", `"loud":{"a":"b"}`, false},
		{"text method refuses", `"byText":""`, false},
		{"embedded method", `"behind":"2026-01-05T08:00:50Z","behindP":"2026-01-05T08:00:50Z"`, true},
		{"embedded method and null", `"behind":null,"behindP":null`, true},
		{"embedded methods that hide each other", `"both":{"Heard":"a","Deaf":"b"}`, true},
		{"keys with a method", `"keys":{"a":"b"}`, false},
		{"keys that are numbers", `"ints":{"1":"b"}`, false},
		{"json.Number", `"number":1`, false},
		{"number in a string", `"quoted":"1"`, false},
		{"list with that option", `"quotedL":[1]`, false},
		{"interface with methods", `"iface":"a"`, false},
		{"bytes of a type of their own", `"bytes":"YQ=="`, false},
		{"struct without a name that has methods", `"noName":{}`, false},
		{"shadowed", `"shadowed":"a"`, false},
		{"embedded in an unexported struct", `"deep":"a"`, true},
		{"embedded by a pointer", `"pointed":"a"`, false},
	})
	spring(t, inJSON, manyFields, `{%s}`, []trap{
		{"first, last", `"f0":1,"f199":2,"f64":3,"f63":4,"f128":5`, true}, {"twice", `"f0":1,"f199":2,"f64":3,"f199":4`, false},
	})
	for _, none := range []reflect.Type{tooMany, reflect.TypeFor[oddName](), reflect.TypeFor[struct{ metav1.Time }](), reflect.TypeFor[[2]int]()} {
		_, err := PlanOf(none, JSON)
		assert.Error(t, err, none)
	}
}

// TestTrapsOfKnownTypes checks the types of apimachinery that decode themselves.
func TestTrapsOfKnownTypes(t *testing.T) {
	spring(t, inJSON, reflect.TypeFor[widgetSpec](), `{%s}`, []trap{
		{"nulls", `"port":null,"ports":[null],"limit":null,"limitMap":{"a":null},"everyP":null,"at":null,"atP":null,"times":{"a":null},"timeList":[null],"extension":null,"extensions":[null]`, true},
		{"members of a map begin as nothing", `"byName":{"a":{"shared":"x","replicas":2},"b":{}},"times":{"a":"2026-02-28T23:59:59Z","b":null}`, true},
		{"null duration", `"every":null`, false},
		{"duration", `"every":"1h2m","everyP":"-3us"`, true},
		{"duration without a unit", `"every":"1"`, false},
		{"duration that is a number", `"every":1`, false},
		{"port", `"port":80,"ports":["http","80%",-1]`, true},
		{"large port", `"port":2147483648`, false},
		{"port with a point", `"port":1.5`, false},
		{"bool for a port", `"port":true`, false},
		{"quantities", `"limit":"1.5Gi","limitMap":{"a":2,"b":1e3,"c":" 7 ","d":"0.5"}`, true},
		{"quantity with an escape", `"limit":"1\u0030"`, false},
		{"empty quantity", `"limit":""`, false},
		{"bool for a quantity", `"limit":true`, false},
		{"times", `"at":"2026-02-28T23:59:59Z","times":{"a":"2024-02-29T00:00:00+01:00"},"timeList":["2026-01-05T08:00:50.123456Z"]`, true},
		{"time with an escape", `"at":"2026-01-05T08:00:5\u0030Z"`, true},
		{"no such day", `"at":"2026-02-29T00:00:00Z"`, false},
		{"no such hour", `"at":"2026-02-28T24:00:00Z"`, false},
		{"hours of later days", `"at":"2026-02-28T99:00:00Z"`, false},
		{"no such minute", `"at":"2026-02-28T20:60:00Z"`, false},
		{"no such second", `"at":"2026-02-28T20:00:60Z"`, false},
		{"no such month", `"at":"2026-13-28T20:00:00Z"`, false},
		{"month zero", `"at":"2026-00-28T20:00:00Z"`, false},
		{"day zero", `"at":"2026-02-00T20:00:00Z"`, false},
		{"year zero", `"at":"0000-02-29T20:00:00Z"`, true},
		{"empty time", `"at":""`, false},
		{"number for a time", `"at":1`, false},
		{"microseconds are left out", `"timeList":["2026-01-05T08:00:50Z"]`, false},
		{"extensions", `"extension": { "a" : 1 } ,"extensions":[[1, 2],"a"]`, true},
		{"bytes", `"data":"YWI=","dataMap":{"a":"","b":null},"dataList":["YQ==",null]`, true},
		{"bytes with a newline", `"data":"YW\nI="`, true},
		{"bytes as numbers", `"data":[1,2]`, false},
		{"bytes of another alphabet", `"data":"_-8="`, false},
		{"bytes without their end", `"data":"YWI"`, false},
	})
}

func TestTrapsOfDocuments(t *testing.T) {
	spring(t, inDocuments, nil, `{"kind":"A","apiVersion":"b/v1","metadata":{"name":"n"},"list":[%s]}`, []trap{
		{"numbers", `1,-0,1.0,1e3,9223372036854775807,9223372036854775808,-9223372036854775808,1e-400,123456789012345678901234567890`, true},
		{"too large a number", `1e400`, false},
		{"nested", `[],{},[[null]],{"a":{"b":[true,false]}},{"":""}`, true},
		{"twice", `{"a":1,"a":{"b":2}},{"a":{"b":1},"a":{"c":2}}`, true},
		{"case", `{"a":1,"A":2}`, true},
		{"comma", `1,`, false},
	})
	for data, decoded := range map[string]bool{
		`{"kind":"A","apiVersion":"v1"}`:              true,
		`{"kind":"B","apiVersion":"v1","kind":"A"}`:   true,
		`{"kind":"A","apiVersion":"v1","items":[]}`:   false,
		`{"kind":"A","apiVersion":"v1","items":null}`: false,
		`{"kind":"A","apiVersion":"v1","Items":[]}`:   true,
		`{"kind":"A","apiVersion":"a/b"}`:             true,
		`{"kind":"A","apiVersion":"/"}`:               false,
		`{"kind":"A","apiVersion":"a/"}`:              false,
		`{"kind":"A","apiVersion":"/v1"}`:             true,
		`{"kind":"A","apiVersion":"a/b/v1"}`:          false,
		`{"kind":"A","apiVersion":"\u002f\/v1"}`:      false,
		`{"kind":"A","apiVersion":""}`:                false,
		`{"kind":"","apiVersion":"v1"}`:               false,
		`{"kind":1,"apiVersion":"v1"}`:                false,
		`{"apiVersion":"v1"}`:                         false,
		`{"kind":"A"}`:                                false,
		`{}`:                                          false,
		`null`:                                        false,
		`[]`:                                          false,
		`"a"`:                                         false,
	} {
		spring(t, inDocuments, nil, `%s`, []trap{{"whole", data, decoded}})
	}
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// encoded returns the message of an object.
func encoded(t testing.TB, object message) []byte {
	t.Helper()
	data, err := object.Marshal()
	require.NoError(t, err)
	return data
}

// messages returns the kinds that have protobuf.
func messages() (list []reflect.Type) {
	for _, kind := range kinds() {
		if reflect.PointerTo(kind).Implements(reflect.TypeFor[message]()) {
			list = append(list, kind)
		}
	}
	return list
}

// brokenMessage damages random bytes of a message, or adds a field.
func brokenMessage(r *rand.Rand, data []byte) []byte {
	extra := [][]byte{
		{0xf8, 0x7f, 1}, {0xfa, 0x7f, 2, 1, 2}, {0xf9, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8}, {0xfd, 0x7f, 1, 2, 3, 4}, {0xfb, 0x7f, 0xfc, 0x7f}, {0x0a, 0},
		{0x12, 0}, {0x1a, 0}, {0x08, 1}, {0x0a, 2, 0x0a, 0}, {0, 1}, {0x0c}, {0x88, 0x80, 0x80, 0x80, 0x10, 1},
		{0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, {0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	}
	switch r.IntN(4) {
	case 0:
		return append(data, extra[r.IntN(len(extra))]...)
	case 1:
		return append(bytes.Clone(extra[r.IntN(len(extra))]), data...)
	}
	return damaged(r, data, 1+r.IntN(2))
}

const envelopeMark = "k8s\x00"

// sameEnvelope compares an envelope, unless it is given up, with that of client-go.
func sameEnvelope(t testing.TB, data []byte) (Frame, bool) {
	envelope, err := stream.OpenEnvelope(data)
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp)
		return Frame{}, false
	}
	var wanted runtime.Unknown
	require.NoError(t, wanted.Unmarshal(data[len(envelopeMark):]))
	require.Equal(t, schema.FromAPIVersionAndKind(wanted.APIVersion, wanted.Kind), envelope.Kind)
	wanted.TypeMeta = runtime.TypeMeta{}
	require.Equal(t, wanted, runtime.Unknown{Raw: append([]byte{}, envelope.Object...)})
	return envelope, true
}

// TestDamagedEnvelopes checks intact and damaged envelopes.
func TestDamagedEnvelopes(t *testing.T) {
	decoded := 0
	for i := range uint64(2000 * *rounds) {
		r := rand.New(rand.NewPCG(i, 3))
		unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "apps/v1", Kind: "A"}, Raw: []byte{1, 2, 3}}
		if r.IntN(3) == 0 {
			unknown.ContentEncoding, unknown.ContentType = "gzip", "text/plain"
		}
		raw := encoded(t, &unknown)
		if r.IntN(4) > 0 {
			raw = brokenMessage(r, raw)
		}
		if _, ok := sameEnvelope(t, append([]byte(envelopeMark), raw...)); ok {
			decoded++
		}
	}
	assert.Greater(t, decoded, 200)
	for _, none := range []string{"", "k8s", "k8s\x00", "k8s\x01\x0a\x00", "{}"} {
		_, err := stream.OpenEnvelope([]byte(none))
		assert.ErrorIs(t, err, ErrGiveUp)
	}
}

// TestTrapsOfMessages checks cases that random messages may miss.
func TestTrapsOfMessages(t *testing.T) {
	meta := func(fields string) string { return "\x0a" + string(rune(len(fields))) + fields }
	spring(t, inProtobuf, reflect.TypeFor[corev1.Pod](), `%s`, []trap{
		{"nothing", "", true},
		{"empty fields", "\x0a\x00\x12\x00\x1a\x00", true},
		{"other order", "\x1a\x00\x0a\x00", true},
		{"message twice", meta("\x0a\x01a") + meta("\x12\x01b"), false},
		{"text twice", meta("\x0a\x01a\x0a\x01b"), false},
		{"list", meta("\x72\x01a\x72\x01b"), true},
		{"list in pieces", meta("\x72\x01a\x0a\x01n\x72\x01b"), false},
		{"map", meta("\x5a\x06\x0a\x01k\x12\x01v\x5a\x06\x0a\x01k\x12\x01w"), true},
		{"map, value first", meta("\x5a\x06\x12\x01v\x0a\x01k"), false},
		{"map without a value", meta("\x5a\x03\x0a\x01k"), false},
		{"map without a key", meta("\x5a\x03\x12\x01v"), false},
		{"map, value twice", meta("\x5a\x09\x0a\x01k\x12\x01v\x12\x01w"), false},
		{"map, more fields", meta("\x5a\x08\x0a\x01k\x12\x01v\x18\x01"), false},
		{"map, empty entry", meta("\x5a\x00"), false},
		{"not UTF-8", meta("\x0a\x02\xff\xfe"), true},
		{"unknown field", meta("\xf8\x07\x01\xfa\x07\x01a"), true},
		{"group", meta("\xfb\x07\xfc\x07"), false},
		{"end of a group", meta("\xfc\x07"), false},
		{"wire type that is none", meta("\x0e"), false},
		{"field zero", "\x00\x00", false},
		{"field of 29 bits", "\xf8\xff\xff\xff\x0f\x01", true},
		{"field of 30 bits", "\x80\x80\x80\x80\x10\x01", false},
		{"field of 32 bits, whose lower ones are a known one", "\x8a\x80\x80\x80\x80\x01\x00", false},
		{"bool", "\x12\x02\x58\x01", true},
		{"bool that is two", "\x12\x02\x58\x02", false},
		{"known field as another type", meta("\x08\x01"), false},
		{"length of a text beyond the message", "\x0a\x03\x0a\x05abc\x12\x00", false},
		{"length of a message beyond the one around it", "\x0a\x03\x42\x02\x08\x07", false},
		{"length of a long text beyond the message", "\x0a\x82\x01\x0a\x81\x01" + strings.Repeat("a", 127) + "\x12\x00", false},
		{"length of a long message beyond the one around it", "\x12\x82\x01\x72\x84\x01" + strings.Repeat("\xfa\x07\x00", 44), false},
		{"length in more bytes than it needs", "\x0a\x84\x00\x0a\x81\x00a", true},
		{"length beyond the end", "\x0a\x7f", false},
		{"length of 64 bits", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false},
		{"number", meta("\x38\x96\x01"), true},
		{"negative number", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true},
		{"number with zeros behind", meta("\x38\x81\x80\x00"), true},
		{"number of 70 bits", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), false},
		{"number of 11 bytes", meta("\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false},
		{"number without an end", meta("\x38\xff"), false},
		{"time", meta("\x42\x02\x08\x07"), true},
		{"time with nanoseconds", meta("\x42\x04\x08\x07\x10\x09"), true},
		{"empty time", meta("\x42\x00"), true},
		{"time of nanoseconds alone", meta("\x42\x02\x10\x09"), false},
		{"time twice", meta("\x42\x04\x08\x07\x08\x08"), false},
	})
}

// TestTrapsOfMapsAndLists checks maps and lists that pods do not have.
func TestTrapsOfMapsAndLists(t *testing.T) {
	spring(t, inProtobuf, reflect.TypeFor[corev1.ConfigMap](), `%s`, []trap{
		{"bytes in a map that were nil", "\x1a\x03\x0a\x01k", true},
		{"and that were empty", "\x1a\x05\x0a\x01k\x12\x00", true},
		{"and before their key", "\x1a\x05\x12\x00\x0a\x01k", false},
	})
	hard := "\x0a\x08\x0a\x01k\x12\x03\x0a\x011\x0a\x05\x0a\x01l\x12\x00"
	review := &authenticationv1.TokenReview{}
	review.Status.User.Extra = map[string]authenticationv1.ExtraValue{"nil": nil, "empty": {}, "one": {"a"}}
	for of, data := range map[reflect.Type]string{
		reflect.TypeFor[corev1.ResourceQuota]():         "\x12" + string(rune(len(hard))) + hard, // empty messages in a map
		reflect.TypeFor[authenticationv1.TokenReview](): string(encoded(t, review)),              // lists in a map
		reflect.TypeFor[runtime.Unknown]():              "\x12\x00",                              // empty bytes
	} {
		assert.True(t, inProtobuf.same(t, of, []byte(data), Options{}), of)
	}
}

// TestSecretMessages checks that neither data of a secret nor strings that differ between objects
// enter a table.
func TestSecretMessages(t *testing.T) {
	table := NewIntern(0)
	secret := &corev1.Secret{Data: map[string][]byte{"key-hunter2": []byte("hunter2")}, StringData: map[string]string{"plain": "hunter2"}}
	config := &corev1.ConfigMap{Data: map[string]string{"key-hunter2": "hunter2"}}
	config.Labels = map[string]string{"app": "label-1"}
	config.Name, config.UID, config.ResourceVersion = "name-1", "uid-1", "1"
	secrets := &corev1.SecretList{Items: []corev1.Secret{*secret, *secret}}
	secrets.Items[1].Annotations = map[string]string{"applied": "hunter2"}
	for range 4 {
		for _, object := range []message{secret, &secrets.Items[1], secrets, config} {
			require.True(t, inProtobuf.same(t, reflect.TypeOf(object).Elem(), encoded(t, object), Options{Intern: table}))
		}
	}
	assert.ElementsMatch(t, []string{"app", "label-1"}, slices.Collect(table.All()))
}
