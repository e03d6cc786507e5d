// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode/proto"
)

// changer makes random new versions of objects.
type changer struct {
	r    *rand.Rand
	fill filler
}

// change changes one field of a struct, or a value below it.
func (c changer) change(v reflect.Value, other reflect.Value) {
	i := c.r.IntN(v.NumField())
	to, from := v.Field(i), other.Field(i)
	if !to.CanSet() || v.Type().Field(i).Type == reflect.TypeFor[metav1.TypeMeta]() {
		return
	}
	switch {
	case to.Kind() == reflect.Struct && c.r.IntN(4) > 0 && to.NumField() > 0 && v.Type().Field(i).IsExported():
		c.change(to, from)
	case to.Kind() == reflect.Slice && to.Len() > 0 && c.r.IntN(4) > 0:
		c.changeList(to, from)
	case c.r.IntN(4) == 0:
		to.SetZero()
	default:
		to.Set(from)
	}
}

// changeList removes, inserts, reorders or changes elements.
func (c changer) changeList(to, from reflect.Value) {
	n := to.Len()
	at := c.r.IntN(n)
	list := reflect.MakeSlice(to.Type(), 0, n+from.Len())
	switch c.r.IntN(4) {
	case 0:
		list = reflect.AppendSlice(reflect.AppendSlice(list, to.Slice(0, at)), to.Slice(at+1, n))
	case 1:
		list = reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(list, to.Slice(0, at)), from), to.Slice(at, n))
	case 2:
		list = reflect.AppendSlice(reflect.AppendSlice(list, to.Slice(at, n)), to.Slice(0, at))
	default:
		list = reflect.AppendSlice(list, to)
		if elem := list.Index(at); elem.Kind() == reflect.Struct && from.Len() > 0 && elem.NumField() > 0 {
			c.change(elem, from.Index(0))
		} else if from.Len() > 0 {
			elem.Set(from.Index(0))
		}
	}
	to.Set(list)
}

// next returns a new version of an object.
func (c changer) next(object runtime.Object) runtime.Object {
	next, other := object.DeepCopyObject(), reflect.New(reflect.TypeOf(object).Elem())
	c.fill.Fill(other.Interface())
	for range 1 + c.r.IntN(3) {
		c.change(reflect.ValueOf(next).Elem(), other.Elem())
	}
	return next
}

// TestUpdates checks that each version of an object, decoded with the former version, equals the
// result of Unmarshal, and that the former version is not modified. Data is given up with a former
// version if and only if it is given up without one.
func TestUpdates(t *testing.T) {
	for i, kind := range messages() {
		c := changer{rand.New(rand.NewPCG(7, uint64(i))), newFiller(int64(i))}
		object, ok := reflect.New(kind).Interface().(runtime.Object)
		if !ok {
			continue
		}
		c.fill.Fill(object)
		var former Former
		for range 12 * rounds() {
			data, err := object.(message).Marshal()
			require.NoError(t, err)
			for range 2 {
				updated(t, kind, brokenMessage(c.r, data), former)
			}
			if now := updated(t, kind, data, former); now.Row != nil {
				former = now
			}
			object = c.next(object)
		}
	}
}

// updated decodes data with a former version, and compares the result with that of Unmarshal.
func updated(t *testing.T, kind reflect.Type, data []byte, former Former) Former {
	var was any
	if former.Object != nil {
		was = former.Object.(runtime.Object).DeepCopyObject()
	}
	plan, got := planOf(t, kind), reflect.New(kind).Interface()
	copied := bytes.Clone(data)
	row, err := plan.Update(copied, got, former, Options{})
	overwrite(copied)
	if plain := plan.Protobuf(data, reflect.New(kind).Interface(), Options{}); err != nil {
		require.ErrorIs(t, err, ErrGiveUp)
		require.ErrorIs(t, plain, ErrGiveUp)
		return Former{}
	}
	wanted := reflect.New(kind).Interface()
	require.NoError(t, wanted.(message).Unmarshal(data))
	if !reflect.DeepEqual(wanted, got) {
		require.Equal(t, wanted, got, "%v", kind)
		require.Fail(t, "not deeply equal", "%v", kind)
	}
	if was != nil && !reflect.DeepEqual(former.Object, was) {
		require.Equal(t, was, former.Object, "the former object was written to")
	}
	fresh, err := plan.Update(data, reflect.New(kind).Interface(), Former{}, Options{})
	require.NoError(t, err)
	require.Len(t, row, len(fresh), "%v", kind)
	return Former{Object: got, Row: row}
}

// updatedPod returns two versions of a pod.
func updatedPod() (first, second *corev1.Pod) {
	first = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", Labels: map[string]string{"a": "b"}, ResourceVersion: "1"}}
	for _, name := range []string{"one", "two", "three"} {
		first.Spec.Containers = append(first.Spec.Containers, corev1.Container{Name: name, Image: "image", Command: []string{"some", "command"}})
	}
	second = first.DeepCopy()
	second.ResourceVersion, second.Status.Phase = "2", corev1.PodRunning
	return first, second
}

func encoded(t *testing.T, object message) []byte {
	data, err := object.Marshal()
	require.NoError(t, err)
	return data
}

// TestUpdateTakesOver checks that an update shares the unchanged parts, and no others.
func TestUpdateTakesOver(t *testing.T) {
	first, second := updatedPod()
	second.Spec.Containers[1].Image = "another"
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var a, b corev1.Pod
	row, err := plan.Update(encoded(t, first), &a, Former{}, Options{})
	require.NoError(t, err)
	next, err := plan.Update(encoded(t, second), &b, Former{Object: &a, Row: row}, Options{})
	require.NoError(t, err)
	assert.Equal(t, reflect.ValueOf(a.Labels).Pointer(), reflect.ValueOf(b.Labels).Pointer())
	assert.Same(t, &a.Spec.Containers[0].Command[0], &b.Spec.Containers[0].Command[0])
	assert.NotSame(t, &a.Spec.Containers[1].Command[0], &b.Spec.Containers[1].Command[0])
	assert.Same(t, &a.Spec.Containers[2].Command[0], &b.Spec.Containers[2].Command[0])
	assert.Equal(t, second, &b)
	assert.Less(t, len(next), 50, "words")
}

// TestUpdateOfWritten checks that a modification of the former object is reported, and is not in
// the new version.
func TestUpdateOfWritten(t *testing.T) {
	first, second := updatedPod()
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var a, b corev1.Pod
	var written []*Written
	share := NewSharing(NewParts(1 << 20)).Report(func(w *Written) {
		if w != nil {
			written = append(written, w)
		}
	})
	row, err := plan.Update(encoded(t, first), &a, Former{}, Options{Share: share})
	require.NoError(t, err)
	a.Spec.Containers[0].Command[0] = "written"
	_, err = plan.Update(encoded(t, second), &b, Former{Object: &a, Row: row}, Options{Share: share, Checks: true})
	require.NoError(t, err)
	assert.Equal(t, second, &b)
	require.Len(t, written, 1)
	assert.Equal(t, "Pod.spec", written[0].In)
}

// TestUpdateOfTrimmed checks that a list which was removed from a former object, or shortened, is
// not copied.
func TestUpdateOfTrimmed(t *testing.T) {
	first, second := updatedPod()
	second.Spec.NodeName = "node"
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var a, b corev1.Pod
	row, err := plan.Update(encoded(t, first), &a, Former{}, Options{})
	require.NoError(t, err)
	second.Spec.Containers[0].Image = "another"
	for _, left := range [][]corev1.Container{nil, a.Spec.Containers[:1]} {
		a.Spec.Containers, b = left, corev1.Pod{}
		_, err = plan.Update(encoded(t, second), &b, Former{Object: &a, Row: row}, Options{})
		require.NoError(t, err)
		assert.Equal(t, second, &b)
	}
}

// TestUpdateOfQuantities checks that quantities whose copies share memory, and all values around
// them, are in one object only. Other elements are shared.
func TestUpdateOfQuantities(t *testing.T) {
	first, second := updatedPod()
	for i, amount := range []string{"123456789012345678901234567890", "100m", "1"} {
		for _, pod := range []*corev1.Pod{first, second} {
			pod.Spec.Containers[i].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(amount)}
		}
	}
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	former := Former{}
	for round := range 3 {
		var a corev1.Pod
		row, err := plan.Update(encoded(t, first), &a, former, Options{})
		require.NoError(t, err)
		former = Former{Object: &a, Row: row}
		if round == 0 {
			continue // the first row does not show which element it is
		}
		for _, pod := range []*corev1.Pod{first, second} {
			var b corev1.Pod
			_, err = plan.Update(encoded(t, pod), &b, former, Options{})
			require.NoError(t, err)
			for i, isShared := range []bool{false, true, true} {
				is := reflect.ValueOf(a.Spec.Containers[i].Resources.Limits).Pointer() == reflect.ValueOf(b.Spec.Containers[i].Resources.Limits).Pointer()
				assert.Equal(t, isShared, is, "container %d", i)
			}
		}
	}
}

// TestUpdateMatchesElements checks that elements of a list are found after new, changed and removed
// ones, as long as fewer than farthestElement are removed.
func TestUpdateMatchesElements(t *testing.T) {
	list := func(names ...int) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, n := range names {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint(n), Command: []string{"command"}})
		}
		return pod
	}
	span := func(from, to int) (names []int) {
		for n := from; n < to; n++ {
			names = append(names, n)
		}
		return names
	}
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	for name, c := range map[string]struct {
		before, after []int
		taken         int
	}{
		"one element":              {span(0, 1), span(0, 2), 0},
		"to one element":           {span(0, 2), span(1, 2), 1},
		"the first is gone":        {span(0, 40), span(1, 40), 39},
		"many are gone":            {span(0, 90), span(70, 90), 20},
		"as many as are found":     {span(0, 40), append(span(farthestElement-1, 40), 99), 40 - farthestElement + 1},
		"one more":                 {span(0, 40), append(span(farthestElement, 40), 99), 0},
		"many new ones":            {span(0, 40), span(-60, 40), 40},
		"new ones at the end":      {span(0, 40), span(0, 60), 40},
		"changed from the begin":   {span(0, 60), append(span(100, 130), span(30, 60)...), 30},
		"and new ones at the end":  {span(0, 60), append(span(100, 130), span(30, 70)...), 30},
		"in another order":         {span(0, 10), append(span(5, 10), span(0, 5)...), 5},
		"none left":                {span(0, 10), nil, 0},
		"all but the last gone":    {span(0, farthestElement), span(farthestElement-1, farthestElement), 1},
		"twice":                    {span(0, 10), append(span(0, 10), span(0, 10)...), 10},
		"every second one changed": {span(0, 6), []int{0, 10, 2, 11, 4, 12}, 3},
	} {
		var a, b corev1.Pod
		row, err := plan.Update(encoded(t, list(c.before...)), &a, Former{}, Options{})
		require.NoError(t, err)
		_, err = plan.Update(encoded(t, list(c.after...)), &b, Former{Object: &a, Row: row}, Options{})
		require.NoError(t, err)
		taken := 0
		for i := range b.Spec.Containers {
			for j := range a.Spec.Containers {
				if &a.Spec.Containers[j].Command[0] == &b.Spec.Containers[i].Command[0] {
					taken++
				}
			}
		}
		assert.Equal(t, list(c.after...), &b, name)
		assert.Equal(t, c.taken, taken, name)
	}
}

// farthestElement is the number of elements of a former list that proto examines for a new one.
const farthestElement = 16

// TestUpdateOfDropped checks that metadata which Trim removed from the former object is not taken
// for a modification, and that a modification of the same field is found.
func TestUpdateOfDropped(t *testing.T) {
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	for name, paths := range map[string][]string{
		"all":         {"metadata.managedFields", "metadata.annotations[a]", "metadata.annotations[b]"},
		"one":         {"metadata.annotations[a]"},
		"one of many": {"metadata.annotations[b]", "metadata.annotations[x]"},
		"none":        {"metadata.annotations[x]"},
	} {
		drop, refused := DropOf(paths)
		require.Empty(t, refused)
		for change, next := range map[string]func(*corev1.Pod){
			"metadata": func(p *corev1.Pod) { p.ResourceVersion = "2" },
			"status":   func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning },
		} {
			for _, against := range []bool{false, true} {
				first, _ := updatedPod()
				first.Annotations = map[string]string{"a": "1", "b": "2"}
				first.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "one"}, {Manager: "two"}}
				second := first.DeepCopy()
				next(second)
				var a, b corev1.Pod
				written := 0
				share := NewSharing(NewParts(1 << 20)).Report(func(w *Written) {
					if w != nil {
						written++
					}
				})
				row, err := plan.Update(encoded(t, first), &a, Former{}, Options{})
				require.NoError(t, err)
				drop.Trim(&a)
				if against {
					a.Annotations = map[string]string{"against": "the rule"}
				}
				_, err = plan.Update(encoded(t, second), &b, Former{Object: &a, Row: row}, Options{Share: share, Checks: true, Trim: func(m *metav1.ObjectMeta) { drop.Trim(m) }})
				require.NoError(t, err)
				drop.Trim(&b)
				drop.Trim(second)
				assert.Equal(t, second, &b, name)
				assert.Equal(t, against, written > 0, "%s, %s", name, change)
			}
		}
	}
}

// TestUpdatesShareWhatHasChanged checks that an update looks up changed parts only, and that
// objects which changed in the same way share them.
func TestUpdatesShareWhatHasChanged(t *testing.T) {
	first, second := updatedPod()
	second.Spec.Containers[0].Args = []string{"another argument", "and one more"}
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	parts := NewParts(1 << 20)
	o := Options{Intern: NewIntern(1 << 20), Share: NewSharing(parts)}
	var a corev1.Pod
	row, err := plan.Update(encoded(t, first), &a, Former{}, o)
	require.NoError(t, err)
	texts := o.Intern.Status().Misses
	var updated [3]corev1.Pod // the second one adds the part to the table, the third one finds it
	for i := range updated {
		_, err = plan.Update(encoded(t, second), &updated[i], Former{Object: &a, Row: row}, o)
		require.NoError(t, err)
		assert.Equal(t, second, &updated[i])
		if i == 0 {
			assert.Less(t, o.Intern.Status().Misses, 2*texts)
		}
	}
	assert.Same(t, &updated[1].Spec.Containers[0].Args[0], &updated[2].Spec.Containers[0].Args[0])
}

// TestUpdatesDoNotEndSharing checks that updates whose parts are never found do not stop the
// lookups for whole objects.
func TestUpdatesDoNotEndSharing(t *testing.T) {
	first, second := updatedPod()
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	parts := NewParts(1 << 20)
	o := Options{Share: NewSharing(parts)}
	former := Former{Object: &corev1.Pod{}}
	row, err := plan.Update(encoded(t, first), former.Object, Former{}, o)
	require.NoError(t, err)
	former.Row = row
	for i := range 64 {
		second.Annotations = map[string]string{"a": strings.Repeat(string(rune('a'+i)), 64<<10)}
		_, err = plan.Update(encoded(t, second), &corev1.Pod{}, former, o)
		require.NoError(t, err)
	}
	asked := parts.Status().Misses
	_, err = plan.Update(encoded(t, first), &corev1.Pod{}, Former{}, o)
	require.NoError(t, err)
	assert.Greater(t, parts.Status().Misses+parts.Status().Hits, asked, "no longer looked for")
}

// TestUpdateChecksElements checks that a modified element of a changed list is found and empties
// the table, which may have it too, and that unmodified elements are reported as correct.
func TestUpdateChecksElements(t *testing.T) {
	first, second := updatedPod()
	second.Spec.Containers[1].Image = "another"
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	for _, against := range []bool{false, true} {
		right, written, table := 0, []string(nil), NewParts(1<<20)
		share := NewSharing(table).Report(func(w *Written) {
			if w == nil {
				right++
			} else {
				written = append(written, w.In)
			}
		})
		var row Row
		var a, b corev1.Pod
		for range 3 {
			var err error
			a = corev1.Pod{}
			row, err = plan.Update(encoded(t, first), &a, Former{}, Options{Share: share})
			require.NoError(t, err)
		}
		require.NotZero(t, table.Status().Entries)
		right = 0
		if against {
			a.Spec.Containers[2].Image = "against the rule"
		}
		_, err := plan.Update(encoded(t, second), &b, Former{Object: &a, Row: row}, Options{Share: share, Checks: true})
		require.NoError(t, err)
		assert.Equal(t, second, &b)
		if against {
			assert.Equal(t, []string{"PodSpec.containers"}, written)
			assert.Zero(t, table.Status().Entries)
		} else {
			assert.Empty(t, written)
			assert.Greater(t, right, 4)
			assert.NotZero(t, table.Status().Entries)
		}
	}
}

// TestUpdateBehindWritten checks that, if a modified part is found, the new version has none of the
// parts copied before it, which may be modified too.
func TestUpdateBehindWritten(t *testing.T) {
	first, second := updatedPod()
	second.ResourceVersion = first.ResourceVersion
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	data, next := encoded(t, first), encoded(t, second)
	found := 0
	share := NewSharing(NewParts(1 << 20)).Report(func(w *Written) {
		if w != nil && w.In == "Pod.spec" {
			found++
		}
	})
	for range 100 * 1024 {
		var a, b corev1.Pod
		row, err := plan.Update(data, &a, Former{}, Options{})
		require.NoError(t, err)
		a.Annotations, a.Spec.NodeName = map[string]string{"against": "the rule"}, "against the rule"
		_, err = plan.Update(next, &b, Former{Object: &a, Row: row}, Options{Share: share})
		require.NoError(t, err)
		if found > 0 {
			assert.Equal(t, second, &b)
			return
		}
	}
	assert.Fail(t, "nothing was checked")
}

// TestUpdateOfOthers checks that an object of another type is not used as a former version, and
// that the fields of one message are not used for another.
func TestUpdateOfOthers(t *testing.T) {
	first, second := updatedPod()
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var a, b corev1.Pod
	row, err := plan.Update(encoded(t, first), &a, Former{}, Options{})
	require.NoError(t, err)
	for _, other := range []any{&corev1.Node{}, (*corev1.Pod)(nil), "", nil} {
		b = corev1.Pod{}
		_, err = plan.Update(encoded(t, second), &b, Former{Object: other, Row: row}, Options{})
		require.NoError(t, err)
		assert.Equal(t, second, &b)
	}
	a, b = corev1.Pod{}, corev1.Pod{}
	row, err = plan.Update([]byte("\x12\x03\x1a\x01x"), &a, Former{}, Options{})
	require.NoError(t, err)
	require.EqualValues(t, "x", a.Spec.RestartPolicy)
	_, err = plan.Update([]byte("\x0a\x03\x1a\x01x"), &b, Former{Object: &a, Row: row}, Options{})
	require.NoError(t, err)
	assert.Equal(t, "x", b.Namespace)
}

// TestUID checks that the UID is found where servers write it, and nowhere else.
func TestUID(t *testing.T) {
	pod, _ := updatedPod()
	for data, uid := range map[string]string{
		string(encoded(t, pod)):             "u",
		string(encoded(t, &corev1.Pod{})):   "",
		"":                                  "",
		"\x0a":                              "",
		"\x0a\x05\x2a\x01u":                 "", // cut
		"\x0a\x03\x2a\x02u":                 "",
		"\x0a\x03\x2a\x01u":                 "u",
		"\x0a\x06\x0a\x01n\x2a\x01u":        "u",
		"\x0a\x06\x32\x01v\x2a\x01u":        "",
		"\x12\x00\x0a\x03\x2a\x01u":         "",
		"\x0a\x00\x0a\x03\x2a\x01u":         "",
		"\x0a\x02\x28\x01":                  "",
		"\x0a\x05\x2a\x01u\x2a\x00":         "u",
		"\x0a\x00\x2a\x01u":                 "",
		string([]byte{0x0a, 2, 0x0b, 0x2a}): "",
	} {
		assert.Equal(t, uid, string(proto.UID([]byte(data))), "%q", data)
	}
}

// TestUIDOfJSON checks that the UID is found at any position in the metadata, if it is plain.
func TestUIDOfJSON(t *testing.T) {
	pod, _ := updatedPod()
	whole, err := json.Marshal(pod)
	require.NoError(t, err)
	for data, uid := range map[string]string{
		string(whole):                           "u",
		"":                                      "",
		"null":                                  "",
		"{}":                                    "",
		`{"metadata":{}}`:                       "",
		`{"metadata":null}`:                     "",
		`{"metadata":"uid"}`:                    "",
		`{"uid":"u"}`:                           "",
		`{"metadata":{"uid":1}}`:                "",
		`{"metadata":{"uid":""}}`:               "",
		`{"metadata":{"uid":"u"`:                "u", // the rest is not read
		`{"metadata":{"uid":"u`:                 "",
		`{"metadata":{"uid":"\u0075"}}`:         "",
		`{"metadata":{"uid":"ü"}}`:              "",
		`{"metadata":{"name":"uid","uid":"u"}}`: "u",
		` { "spec" : {"metadata":{"uid":"x"}} , "metadata" : { "uid" : "u" } }`: "u",
		`{"metadata":{"labels":{"uid":"x"},"uid":"u"}}`:                         "u",
		`{"metadata":{"labels":{"uid":"x"}},"uid":"u"}`:                         "",
		`{"metadata":{"labels":[,"uid":"u"}}`:                                   "",
	} {
		assert.Equal(t, uid, string(UID([]byte(data), JSON)), "%q", data)
	}
}
