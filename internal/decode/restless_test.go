// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// measured has quantities wherever maps may have them.
type measured struct {
	Plain  map[string]resource.Quantity   `json:"plain"`
	Listed []corev1.ResourceRequirements  `json:"listed"`
	Below  *corev1.ResourceRequirements   `json:"below"`
	Maps   map[string]corev1.ResourceList `json:"maps"`
	Named  namedQuantities                `json:"named"`
	Values map[string]struct {
		Limits corev1.ResourceList `json:"limits"`
	} `json:"values"`
	Structs map[string]struct{ Q resource.Quantity } `json:"structs"`
	Points  map[string]*resource.Quantity            `json:"points"`
	Wraps   map[string]wrapped                       `json:"wraps"`
}

type (
	namedQuantities map[corev1.ResourceName]resource.Quantity
	wrapped         struct{ resource.Quantity }
)

// quantitiesOf returns the quantities that are values of maps, by where they are.
func (m *measured) quantitiesOf() map[string]resource.Quantity {
	return map[string]resource.Quantity{
		"plain": m.Plain["memory"], "listed": m.Listed[0].Limits["memory"], "below": m.Below.Limits["memory"], "maps": m.Maps["some"]["memory"],
		"named": m.Named["memory"], "values": m.Values["some"].Limits["memory"], "structs": m.Structs["some"].Q,
		"points": *m.Points["memory"], "wraps": m.Wraps["memory"].Quantity,
	}
}

// measuredOf has that quantity everywhere, in maps that are written differently: those that are not
// belong to the same slots of a table.
func measuredOf(quantity string) []byte {
	const limits = `{"memory":"1.5Gi","cpu":"0m"}`
	text := fmt.Sprintf(`{"plain":%[1]s,"listed":[{"limits":%[1]s}],"below":{"limits":%[1]s},"maps":{"some":%[1]s},"named":%[1]s,
		"values":{"some":{"limits":%[1]s}},"structs":{"some":{"Q":"1.5Gi"}},"points":%[1]s,"wraps":%[1]s}`, limits)
	for i := range strings.Count(text, `"0m"`) {
		text = strings.Replace(text, `"0m"`, fmt.Sprintf(`"%dm"`, i+1), 1)
	}
	return []byte(strings.ReplaceAll(text, "1.5Gi", quantity))
}

// TestQuantityOfAMap: arithmetic on a copy of a quantity of one object changes no other object,
// also where the quantity is too large for an integer or has no short form.
func TestQuantityOfAMap(t *testing.T) {
	for _, quantity := range []string{"1.5Gi", "0.1Gi", "1Pi", "9223372036854775808", "1e30", "0.1n", "-1.5Gi", "1.5", "100m", "2Gi", "0", "1234567890m"} {
		a, b := twoOf[measured](t, roomyParts(), measuredOf(quantity), 5)
		wanted, others := resource.MustParse(quantity), b.quantitiesOf()
		for at, q := range a.quantitiesOf() {
			q.Sub(resource.MustParse("1"))
			q.Neg()
			other := others[at]
			assert.Zero(t, wanted.Cmp(other), "%s of %s is %s in another object", at, quantity, &other)
		}
	}
}

// TestQuantityOfAMapProtobuf: the same for protobuf.
func TestQuantityOfAMapProtobuf(t *testing.T) {
	for _, quantity := range []string{"01.5Gi", "1Pi", "123456789012345678901234567890", "100m", "2Gi"} {
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity)}
		pod := corev1.Pod{Spec: corev1.PodSpec{
			Overhead: limits, Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: limits}}},
		}}
		data, err := pod.Marshal()
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte("1536Mi"), []byte("01.5Gi")) // which Marshal makes of the first one
		a, b := twoMessages[corev1.Pod](t, roomyParts(), data, 5)
		wanted := resource.MustParse(quantity)
		for _, two := range [][2]corev1.ResourceList{{a.Spec.Overhead, b.Spec.Overhead}, {a.Spec.Containers[0].Resources.Limits, b.Spec.Containers[0].Resources.Limits}} {
			q, other := two[0]["memory"], two[1]["memory"]
			q.Sub(resource.MustParse("1"))
			assert.Zero(t, wanted.Cmp(other), "%s is %s in another object", quantity, &other)
		}
	}
}

// TestQuantitiesTogether: goroutines with an object each may do so at a time.
func TestQuantitiesTogether(t *testing.T) {
	o, plan := Options{Share: NewSharing(roomyParts())}, planOf(t, reflect.TypeFor[measured]())
	var workers sync.WaitGroup
	for range 20 {
		object := new(measured)
		require.NoError(t, plan.JSON(measuredOf("1.5Gi"), object, o))
		workers.Go(func() {
			for at, q := range object.quantitiesOf() {
				q.Sub(resource.MustParse("512Mi"))
				assert.Equal(t, "1Gi", q.String(), at)
			}
		})
	}
	workers.Wait()
}

// TestShortQuantitiesAreShared: a map of quantities that copies cannot write to is a part.
func TestShortQuantitiesAreShared(t *testing.T) {
	for quantity, shared := range map[string]bool{
		"1.5": true, "100m": true, "2Gi": true, "1": true, "0": true, "12345n": true, "1e3": true, "1.5Gi": false, "1Pi": false, "9223372036854775808": false,
	} {
		data := measuredOf(quantity)
		require.True(t, inOneOfFour(func() bool {
			a, b := twoOf[measured](t, roomyParts(), data, 5)
			return shared == (reflect.ValueOf(a.Plain).UnsafePointer() == reflect.ValueOf(b.Plain).UnsafePointer())
		}), quantity)
		if quantity == "1.5Gi" {
			continue // 1536Mi in protobuf
		}
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity), "cpu": resource.MustParse("100m")}
		message, err := (&corev1.Node{Status: corev1.NodeStatus{Capacity: limits}}).Marshal()
		require.NoError(t, err)
		require.True(t, inOneOfFour(func() bool {
			a, b := twoMessages[corev1.Node](t, roomyParts(), message, 5)
			return shared == (reflect.ValueOf(a.Status.Capacity).UnsafePointer() == reflect.ValueOf(b.Status.Capacity).UnsafePointer())
		}), quantity)
	}
}

// memo keeps what it has computed in a field that nobody else sees.
type memo struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
	matches int
}

func (m *memo) count() int {
	m.matches++
	return m.matches
}

// remembers has such structs wherever a type may.
type remembers struct {
	Pointer *memo            `json:"pointer"`
	List    []memo           `json:"list"`
	Points  []*memo          `json:"points"`
	Map     map[string]*memo `json:"map"`
	Within  *struct {
		Text string `json:"text"`
		Memo memo   `json:"memo"`
	} `json:"within"`
	Absent *struct {
		Text string `json:"text"`
		Memo memo   `json:"memo"`
	} `json:"absent"`
	Embedded *struct {
		Number int `json:"number"`
		memo
	} `json:"embedded"`
	Pointed *struct {
		Text string `json:"text"`
		*shown
	} `json:"pointed"`
	NoName *struct {
		Text    string `json:"text"`
		matches int
	} `json:"noName"`
	Once *struct {
		Text string    `json:"text"`
		Once sync.Once `json:"-"`
	} `json:"once"`
	Plain *struct {
		Text string `json:"text"`
		shown
	} `json:"plain"`
}

// shown has a name that is not exported, and nothing else that is not.
type shown struct {
	Pattern string `json:"pattern"`
}

// TestMemoIsNotShared: a struct with fields that are not exported may keep in them what it has
// computed, so no two objects have the same one.
func TestMemoIsNotShared(t *testing.T) {
	const memo = `{"pattern":"some pattern","text":"some text"}`
	data := fmt.Appendf(nil, `{"pointer":%[1]s,"list":[%[1]s],"points":[%[1]s],"map":{"some":%[1]s},"within":{"text":"some longer text","memo":%[1]s},
		"absent":{"text":"some other text"},"embedded":%[1]s,"noName":%[1]s,"pointed":{"text":"some longer text"},"once":%[1]s,"plain":%[1]s}`, memo)
	a, b := twoOf[remembers](t, roomyParts(), data, 5)
	assert.Equal(t, a, b)
	assert.NotSame(t, a.Pointer, b.Pointer)
	assert.NotSame(t, &a.List[0], &b.List[0])
	assert.NotSame(t, a.Points[0], b.Points[0])
	assert.NotSame(t, a.Map["some"], b.Map["some"])
	assert.NotSame(t, a.Within, b.Within)
	assert.NotSame(t, a.Absent, b.Absent)
	assert.NotSame(t, a.Embedded, b.Embedded)
	assert.NotSame(t, a.Pointed, b.Pointed)
	assert.NotSame(t, a.NoName, b.NoName)
	assert.NotSame(t, a.Once, b.Once)
	assert.Same(t, a.Plain, b.Plain)
	assert.Equal(t, [4]int{1, 1, 1, 1}, [4]int{a.Pointer.count(), b.Pointer.count(), a.Embedded.count(), b.Embedded.count()})
	require.Zero(t, a.NoName.matches)
}

// Types of objects that are no structs.
type (
	rootMap  map[string]any
	rootMaps map[string]rootMaps
)

// TestRootIsNotShared: an object that is a map has that for itself, as client-go writes its kind
// to it, and its caller whatever Trim leaves out.
func TestRootIsNotShared(t *testing.T) {
	data := []byte(`{"spec":{"some":"longer text"},"kind":"Widget"}`)
	a, b := twoOf[rootMap](t, roomyParts(), data, 5)
	(*a)["kind"] = "Other"
	assert.Equal(t, "Widget", (*b)["kind"])
	assert.Equal(t, reflect.ValueOf((*a)["spec"]).UnsafePointer(), reflect.ValueOf((*b)["spec"]).UnsafePointer(), "but for what is in it")
	c, d := twoOf[rootMaps](t, roomyParts(), []byte(`{"a":{"b":{"another":{}}}}`), 5)
	assert.NotEqual(t, reflect.ValueOf(*c).UnsafePointer(), reflect.ValueOf(*d).UnsafePointer())
	assert.Equal(t, reflect.ValueOf((*c)["a"]).UnsafePointer(), reflect.ValueOf((*d)["a"]).UnsafePointer())
}
