// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// each calls f for each value in a table.
func (t *Parts) each(f func(of any, v reflect.Value)) {
	slots := *t.slots.Load()
	for i := range slots {
		e := slots[i].entry.Load()
		if e == nil {
			continue
		}
		var of reflect.Type
		switch node := e.of.(type) {
		case *sharedNode:
			of = node.t
		case *sharedField:
			of = node.t
		default:
			f(e.of, reflect.ValueOf(e.value.kept))
			continue
		}
		v := reflect.New(of)
		e.value.put(of, placeOf(v))
		f(e.of, v.Elem())
	}
}

// walk calls f for v and for all that is in it.
func walk(v reflect.Value, f func(reflect.Value)) {
	f(v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(v.MapIndex(key), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), f)
			}
		}
	}
}

// tableOfEverything has parts of objects of all kinds, in all encodings.
func tableOfEverything(t *testing.T) *Parts {
	table := NewParts(64 << 20)
	fill, o := newFiller(1), Options{Checks: true, Share: NewSharing(table).Report(func(w *Written) {
		require.Nil(t, w, "nobody has written to a part")
	})}
	for _, kind := range kinds() {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		data, err := json.Marshal(object)
		require.NoError(t, err)
		for range 3 {
			o.Share.idle.Store(false)
			require.NoError(t, planOf(t, kind).JSON(data, reflect.New(kind).Interface(), o))
			_, _ = Unstructured(asObject(kind, data), o)
			if m, ok := object.(message); ok {
				written, err := m.Marshal()
				require.NoError(t, err)
				require.NoError(t, planOf(t, kind).Protobuf(written, reflect.New(kind).Interface(), o))
			}
		}
	}
	for _, data := range []string{`{"bytes":["YQ==","YWI=","YWJj"],"extension":{"a":[1,2,3]},"fields":{"f:a":{"f:b":{}}}}`} {
		type odd struct {
			Inner *struct {
				Bytes     [][]byte                   `json:"bytes"`
				Extension *struct{ metav1.TypeMeta } `json:"extension"`
				Fields    *metav1.FieldsV1           `json:"fields"`
				Empty     []string                   `json:"empty"`
			}
		}
		for range 3 {
			require.NoError(t, planOf(t, reflect.TypeFor[odd]()).JSON([]byte(`{"Inner":`+data+`}`), new(odd), o))
		}
	}
	data, err := (&corev1.ConfigMap{BinaryData: map[string][]byte{"some bytes": []byte("123456789")}}).Marshal()
	require.NoError(t, err)
	twoMessages[corev1.ConfigMap](t, table, data, 3)
	return table
}

// TestListsOfPartsAreFull: no list in a part has room for more, so that append copies it, and no
// part has what writes to itself.
func TestListsOfPartsAreFull(t *testing.T) {
	testkit.AtNight(t)
	table, parts, lists := tableOfEverything(t), 0, 0
	table.each(func(of any, v reflect.Value) {
		parts++
		walk(v, func(v reflect.Value) {
			if v.Kind() == reflect.Slice {
				lists++
				require.Equal(t, v.Len(), v.Cap(), "a %v in a part of %T", v.Type(), of)
			}
			require.False(t, v.CanAddr() && v.Type() == reflect.TypeFor[resource.Quantity](), "a Quantity that can be written to")
		})
	})
	assert.Greater(t, parts, 2000)
	assert.Greater(t, lists, 2000)
}

// loose is a type in which zero is of many forms.
type loose struct {
	Part *struct {
		Text   string                        `json:"text"`
		Absent struct{ Q resource.Quantity } `json:"absent"`
	} `json:"part"`
	List    []resource.Quantity             `json:"list"`
	Structs []struct{ Q resource.Quantity } `json:"structs"`
	Own     []ownLoose                      `json:"own"`
	Inside  *struct {
		Text string   `json:"text"`
		Own  ownLoose `json:"own"`
	} `json:"inside"`
	Plain *struct {
		Text string `json:"text"`
	} `json:"plain"`
}

// ownLoose reads itself, and may write to itself when it is read from.
type ownLoose struct{ Text string }

func (o *ownLoose) UnmarshalText(text []byte) error {
	o.Text = string(text)
	return nil
}

// TestZeroIsRestless: what may write to itself when it is read from does so too where it was not
// read, but is nothing.
func TestZeroIsRestless(t *testing.T) {
	data := []byte(`{"part":{"text":"a text of some length"},"list":[null,null,null,null],"structs":[null,null,null,null],
		"own":[null,null,null,null],"inside":{"text":"a text of some length"},"plain":{"text":"a text of some length"}}`)
	a, b := twoOf[loose](t, NewParts(0), data, 4)
	assert.Equal(t, a, b)
	assert.NotSame(t, a.Part, b.Part)
	assert.NotSame(t, &a.List[0], &b.List[0])
	assert.NotSame(t, &a.Structs[0], &b.Structs[0])
	assert.NotSame(t, &a.Own[0], &b.Own[0])
	assert.NotSame(t, a.Inside, b.Inside)
	assert.Same(t, a.Plain, b.Plain)
}

// TestNilAndEmpty: [] and null, {} and null, and what is absent, are told apart in parts.
func TestNilAndEmpty(t *testing.T) {
	for _, part := range []string{`null`, `[]`, `[null]`, `[null,""]`, `["",null]`} {
		data := []byte(`{"metadata":{"finalizers":` + part + `,"ownerReferences":[{"name":"some owner"}],"labels":{}},"spec":{"volumes":[{"name":"some volume","projected":{"sources":null}},{"name":"b","secret":{"items":[]}},{"name":"c","secret":{}},{"name":"d","secret":null}]}}`)
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.Pod](), data, Options{}), part)
	}
	table := NewParts(0)
	empty, null := `{"metadata":{"a":[],"b":{},"c":"some text"}`, `{"metadata":{"a":null,"b":null,"c":"some text"}`
	for range 4 {
		for _, data := range []string{empty, null} {
			got, err := Unstructured([]byte(data+`,"kind":"A","apiVersion":"v1"}`), Options{Share: NewSharing(table)})
			require.NoError(t, err)
			assert.Equal(t, data == null, got["metadata"].(map[string]any)["a"] == nil)
			assert.Equal(t, data == null, got["metadata"].(map[string]any)["b"] == nil)
		}
	}
	assert.NotZero(t, table.Status().Hits)
}

const base64OfHidden = "aHVudGVyMiBodW50ZXIy" // twice hunter2

// secretsEverywhere are objects that have secrets in them.
var secretsEverywhere = map[string]string{
	"secret":            `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"of/someone":"{\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}},"data":{"a":"` + base64OfHidden + `","b":"eA=="},"stringData":{"a":"` + base64OfHidden + `"}}`,
	"list":              `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","data":{"a":"` + base64OfHidden + `"},"kind":"Secret"}]}`,
	"manifests":         `{"apiVersion":"a/v1","kind":"A","spec":{"manifests":[{"apiVersion":"v1","data":{"a":"` + base64OfHidden + `"},"kind":"Secret"}]}}`,
	"template":          `{"apiVersion":"a/v1","kind":"A","spec":{"template":{"stringData":{"a":"` + base64OfHidden + `"},"type":"Opaque"}}}`,
	"last applied":      `{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}}}`,
	"last applied else": `{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"banzaicloud.com/last-applied":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}}}`,
}

// secretsWithin are types that have secrets in them.
type secretsWithin struct {
	List    []corev1.Secret          `json:"list"`
	Map     map[string]corev1.Secret `json:"map"`
	Pointer *corev1.Secret           `json:"pointer"`
	Deep    *struct {
		Text string
		List []*corev1.Secret
	} `json:"deep"`
	Document map[string]any `json:"document"`
}

// TestNoSecretsInTables: nothing of the data of a secret is in a table, wherever the secret is: in
// objects, documents, lists, and annotations in which whole objects are.
func TestNoSecretsInTables(t *testing.T) {
	table, texts := NewParts(0), NewIntern(0)
	share := func() Options { return Options{Intern: texts, Share: NewSharing(table)} }
	for name, data := range secretsEverywhere {
		for range 4 {
			_, err := Unstructured([]byte(data), share())
			assert.Equal(t, name != "list", err == nil, name)
			_, err = UnstructuredItem([]byte(data), "Secret", "v1", share())
			require.NoError(t, err)
		}
	}
	noKind := `{"metadata":{"annotations":{"of/someone":"` + base64OfHidden + `"}},"data":{"a":"` + base64OfHidden + `"}}`
	secret := secretsEverywhere["secret"]
	within := fmt.Sprintf(`{"list":[%[1]s],"map":{"a":%[1]s},"pointer":%[1]s,"deep":{"Text":"text","List":[%[1]s]},"document":{"a":[%[1]s]}}`, secret)
	within = strings.ReplaceAll(within, `"document":{"a":[`+secret, `"document":{"a":[`+secretsEverywhere["manifests"])
	for range 4 {
		_, err := UnstructuredItem([]byte(noKind), "Secret", "v1", share())
		require.NoError(t, err)
		require.NoError(t, planOf(t, reflect.TypeFor[secretsWithin]()).JSON([]byte(within), new(secretsWithin), share()))
		require.NoError(t, planOf(t, reflect.TypeFor[corev1.SecretList]()).JSON([]byte(`{"items":[`+secret+`]}`), new(corev1.SecretList), share()))
	}
	var object corev1.Secret
	require.NoError(t, json.Unmarshal([]byte(secret), &object))
	data, err := (&corev1.SecretList{Items: []corev1.Secret{object}}).Marshal()
	require.NoError(t, err)
	twoMessages[corev1.SecretList](t, table, data, 4)
	for _, raw := range table.all() {
		assert.NotContains(t, string(raw), base64OfHidden[:8])
		assert.NotContains(t, string(raw), "hunter2")
	}
	for _, text := range texts.all() {
		assert.NotContains(t, text, base64OfHidden[:8])
	}
}
