// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA5008,U1000 the tags and fields of these types are odd on purpose

package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Types like those of custom resources, and stranger ones.
type (
	widget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec   widgetSpec    `json:"spec"`
		Status *widgetStatus `json:"status,omitempty"`
	}

	widgetSpec struct {
		corev1.ResourceRequirements
		Common     `json:",inline"`
		Replicas   *int32                        `json:"replicas,omitempty"`
		Port       intstr.IntOrString            `json:"port"`
		Ports      []*intstr.IntOrString         `json:"ports"`
		Limit      resource.Quantity             `json:"limit"`
		Limits     map[string]*resource.Quantity `json:"limitMap"`
		Every      metav1.Duration               `json:"every"`
		EveryP     *metav1.Duration              `json:"everyP"`
		At         metav1.Time                   `json:"at"`
		AtP        *metav1.Time                  `json:"atP"`
		Times      map[string]metav1.Time        `json:"times"`
		TimeList   []metav1.MicroTime            `json:"timeList"`
		Any        any                           `json:"any"`
		AnyMap     map[string]any                `json:"anyMap"`
		AnyList    []any                         `json:"anyList"`
		Extension  runtime.RawExtension          `json:"extension"`
		Extensions []*runtime.RawExtension       `json:"extensions"`
		Raw        json.RawMessage               `json:"raw"`
		RawP       *json.RawMessage              `json:"rawP"`
		RawMap     map[string]json.RawMessage    `json:"rawMap"`
		Children   []widgetSpec                  `json:"children"`
		ByName     map[string]widgetSpec         `json:"byName"`
		Next       *widgetSpec                   `json:"next"`
		Names      []name                        `json:"names"`
		ByNames    map[name]name                 `json:"byNames"`
		Lists      map[string][]string           `json:"lists"`
		Nested     [][]int64                     `json:"nested"`
		Data       []byte                        `json:"data"`
		DataMap    map[name][]byte               `json:"dataMap"`
		DataList   [][]byte                      `json:"dataList"`
		Empty      struct{}                      `json:"empty"`
		Empties    []struct{}                    `json:"empties"`
		Texts      map[string]string             `json:"texts"`
		Named      texts                         `json:"named"`
		Untagged   string
		Dash       string `json:"-,"`
		Skipped    string `json:"-"`
	}

	widgetStatus struct {
		I   int     `json:"i"`
		I8  int8    `json:"i8"`
		I16 int16   `json:"i16"`
		I32 int32   `json:"i32"`
		I64 int64   `json:"i64"`
		U   uint    `json:"u"`
		U8  uint8   `json:"u8"`
		U16 uint16  `json:"u16"`
		U32 uint32  `json:"u32"`
		U64 uint64  `json:"u64"`
		F32 float32 `json:"f32"`
		F64 float64 `json:"f64"`
		B   bool    `json:"b"`
		PB  *bool   `json:"pb"`
		PPI **int   `json:"ppi"`
		PS  *string `json:"ps"`
		PL  *[]name `json:"pl"`
		PM  *texts  `json:"pm"`
		Big [300]int8
		Two [2]int `json:"two"`
	}

	Common struct {
		Shared  string `json:"shared"`
		Another int64  `json:"another"`
	}

	name  string
	texts map[string]string
)

// Types whose methods or tags change how they are decoded.
type (
	// odd has a field of each such type. Values that are not supported are given up when they
	// occur.
	odd struct {
		Upper    shouted            `json:"upper"`
		UpperP   *shouted           `json:"upperP"`
		Uppers   []shouted          `json:"uppers"`
		ByText   byText             `json:"byText"`
		ByTextP  *byText            `json:"byTextP"`
		ByTexts  map[string]byText  `json:"byTexts"`
		Keeps    keeping            `json:"keeps"`
		KeepsL   []keeping          `json:"keepsL"`
		Loud     loudMap            `json:"loud"`
		LoudP    *loudMap           `json:"loudP"`
		Hears    hearing            `json:"hears"`
		HearsP   *hearing           `json:"hearsP"`
		HearsL   []hearing          `json:"hearsL"`
		HearsM   map[string]hearing `json:"hearsM"`
		Behind   ownJSONBehind      `json:"behind"`
		BehindP  *ownJSONBehind     `json:"behindP"`
		Both     ambiguous          `json:"both"`
		Keys     map[byText]string  `json:"keys"`
		Ints     map[int]string     `json:"ints"`
		Number   json.Number        `json:"number"`
		Quoted   int                `json:"quoted,string"`
		QuotedL  []int              `json:"quotedL,string"`
		Iface    fmt.Stringer       `json:"iface"`
		Bytes    []namedByte        `json:"bytes"`
		GV       metav1.GroupVersion
		NoName   struct{ metav1.Time } `json:"noName"`
		NoNameP  *struct{ metav1.Time }
		Shadowed string `json:"shadowed"`
		shadow
		*pointed
		*odd
		unexported string
	}

	shouted       string
	byText        struct{ text string }
	keeping       struct{ kept string }
	loudMap       map[string]string
	hearing       struct{ Heard string }
	ownJSONBehind struct{ metav1.Time }
	ambiguous     struct {
		hearing
		deaf
	}
	deaf      struct{ Deaf string }
	namedByte uint8
	shadow    struct {
		Shadowed string `json:"shadowed"`
		Deep     string `json:"deep"`
	}
	pointed struct {
		Pointed string `json:"pointed"`
	}

	oddName struct {
		Name string `json:"a\"b"`
	}
)

func (s *shouted) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*s = shouted(strings.ToUpper(text))
	return nil
}

func (t *byText) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("empty")
	}
	t.text = "text:" + string(b)
	return nil
}

// UnmarshalText keeps its argument, which it must not.
func (k *keeping) UnmarshalText(b []byte) error {
	k.kept = mem.View(b)
	return nil
}

func (m *loudMap) UnmarshalText(b []byte) error {
	*m = loudMap{"text": string(b)}
	return nil
}

// UnmarshalJSON keeps its argument, which it must not.
func (h *hearing) UnmarshalJSON(b []byte) error {
	h.Heard = mem.View(b)
	return nil
}

func (d *deaf) UnmarshalJSON([]byte) error { return errors.New("deaf") }

// mostMembers is the largest number of members of a struct. manyFields has more fields than a word
// has bits, tooMany has more than a plan permits.
const mostMembers = 256

var (
	manyFields = structOf(200)
	tooMany    = structOf(mostMembers + 1)
)

func structOf(n int) reflect.Type {
	fields := make([]reflect.StructField, n)
	for i := range fields {
		fields[i] = reflect.StructField{
			Name: fmt.Sprint("F", i), Type: reflect.TypeFor[int32](), Tag: reflect.StructTag(fmt.Sprintf(`json:"f%d"`, i))}
	}
	return reflect.StructOf(fields)
}

var oddTypes = []reflect.Type{
	reflect.TypeFor[widget](), reflect.TypeFor[widgetSpec](), reflect.TypeFor[widgetStatus](), reflect.TypeFor[odd](), reflect.TypeFor[hearing](),
	reflect.TypeFor[ambiguous](), reflect.TypeFor[ownJSONBehind](), reflect.TypeFor[byText](), manyFields,
}
