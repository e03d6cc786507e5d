// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/tap"
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
		for range 12 * *rounds {
			data := encoded(t, object.(message))
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
	wanted := protobufOfClients(t, kind, data)
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

// update decodes a pod with a former version.
func update(t *testing.T, pod *corev1.Pod, former Former, o Options) (*corev1.Pod, Former) {
	t.Helper()
	got := new(corev1.Pod)
	row, err := planOf(t, podType).Update(encoded(t, pod), got, former, o)
	require.NoError(t, err)
	return got, Former{Object: got, Row: row}
}

// TestUpdateTakesOver checks that an update shares the unchanged parts, and no others.
func TestUpdateTakesOver(t *testing.T) {
	first, second := updatedPod()
	second.Spec.Containers[1].Image = "another"
	a, former := update(t, first, Former{}, Options{})
	b, next := update(t, second, former, Options{})
	assert.Equal(t, []string{".ObjectMeta.Labels", ".Spec.Containers[0].Command", ".Spec.Containers[2].Command"}, sharedBy(a, b))
	assert.Equal(t, second, b)
	assert.Less(t, len(next.Row), 50, "words")
}

// TestUpdateOfTrimmed checks that a list which was removed from a former object, or shortened, is
// not copied.
func TestUpdateOfTrimmed(t *testing.T) {
	first, second := updatedPod()
	second.Spec.NodeName = "node"
	a, former := update(t, first, Former{}, Options{})
	second.Spec.Containers[0].Image = "another"
	for _, left := range [][]corev1.Container{nil, a.Spec.Containers[:1]} {
		a.Spec.Containers = left
		b, _ := update(t, second, former, Options{})
		assert.Equal(t, second, b)
	}
}

// TestUpdateOfQuantities checks that quantities whose copies share memory, as big ones do before v0.38 of
// apimachinery, and all values around them, are in one object only. Other elements are shared.
func TestUpdateOfQuantities(t *testing.T) {
	first, second := updatedPod()
	for i, amount := range []string{"123456789012345678901234567890", "100m", "1"} {
		for _, pod := range []*corev1.Pod{first, second} {
			pod.Spec.Containers[i].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(amount)}
		}
	}
	former := Former{}
	for round := range 3 {
		var a *corev1.Pod
		if a, former = update(t, first, former, Options{}); round == 0 {
			continue // the first row does not show which element it is
		}
		for _, pod := range []*corev1.Pod{first, second} {
			b, _ := update(t, pod, former, Options{})
			for i, isShared := range []bool{false, true, true} {
				limits := fmt.Sprintf(".Spec.Containers[%d].Resources.Limits", i)
				within := func(path string) bool { return strings.HasPrefix(limits, path) }
				assert.Equal(t, isShared || minor.Since38, slices.ContainsFunc(sharedBy(a, b), within), limits)
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
		a, former := update(t, list(c.before...), Former{}, Options{})
		b, _ := update(t, list(c.after...), former, Options{})
		taken := 0
		for i := range b.Spec.Containers {
			for j := range a.Spec.Containers {
				if &a.Spec.Containers[j].Command[0] == &b.Spec.Containers[i].Command[0] {
					taken++
				}
			}
		}
		assert.Equal(t, list(c.after...), b, name)
		assert.Equal(t, c.taken, taken, name)
	}
}

// farthestElement is the number of elements of a former list that proto examines for a new one.
const farthestElement = 16

// linked has its metadata behind a pointer.
type linked struct {
	metav1.TypeMeta    `json:",inline"`
	*metav1.ObjectMeta `json:"metadata"`
}

// TestTrimLeavesParts checks that Trim does not modify values below the topmost struct or map.
func TestTrimLeavesParts(t *testing.T) {
	const data = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","annotations":{"dropped":"some text of an annotation","kept":"some more text"},"managedFields":[{"manager":"some manager"}]}}`
	o := Options{Share: NewSharing(NewParts(0))}
	for _, c := range []struct {
		d  format
		of reflect.Type
	}{{inJSON, podType}, {inJSON, reflect.TypeFor[linked]()}, {inDocuments, nil}} {
		var list [5]any
		for i := range list {
			list[i] = c.d.decoded(t, c.of, []byte(data), o)
		}
		text, err := json.Marshal(list[3])
		require.NoError(t, err)
		object := list[4]
		if content, ok := object.(map[string]any); ok {
			object = &unstructured.Unstructured{Object: content}
		}
		tap.NewDrop(true, "dropped").Trim(object)
		after, err := json.Marshal(list[3])
		require.NoError(t, err)
		assert.Equal(t, string(text), string(after))
		left, err := json.Marshal(list[4])
		require.NoError(t, err)
		assert.NotContains(t, string(left), "some text")
		assert.NotContains(t, string(left), "some manager")
		assert.Contains(t, string(left), "some more text")
	}
}

// TestUpdateOfDropped checks that metadata which Trim removed from the former object is not taken
// for a modification, and that a modification of the same field is found.
func TestUpdateOfDropped(t *testing.T) {
	for name, paths := range map[string][]string{
		"all":         {"metadata.managedFields", "metadata.annotations[a]", "metadata.annotations[b]"},
		"one":         {"metadata.annotations[a]"},
		"one of many": {"metadata.annotations[b]", "metadata.annotations[x]"},
		"none":        {"metadata.annotations[x]"},
	} {
		drop, refused := tap.DropOf(paths)
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
				a, former := update(t, first, Former{}, Options{})
				drop.Trim(a)
				if against {
					a.Annotations = map[string]string{"against": "the rule"}
				}
				w := newWatched()
				b, _ := update(t, second, former, Options{Share: w.sharing(), Checks: true, Trim: func(m *metav1.ObjectMeta) { drop.Trim(m) }})
				drop.Trim(b)
				drop.Trim(second)
				assert.Equal(t, second, b, name)
				assert.Equal(t, against, len(w.written) > 0, "%s, %s", name, change)
			}
		}
	}
}

// TestUpdatesShareChangedParts checks that an update looks up changed parts only, and that
// objects which changed in the same way share them.
func TestUpdatesShareChangedParts(t *testing.T) {
	first, second := updatedPod()
	second.Spec.Containers[0].Args = []string{"another argument", "and one more"}
	o := Options{Intern: NewIntern(1 << 20), Share: newWatched().sharing()}
	_, former := update(t, first, Former{}, o)
	texts := o.Intern.Status().Misses
	var updated [3]*corev1.Pod // the second one adds the part to the table, the third one finds it
	for i := range updated {
		updated[i], _ = update(t, second, former, o)
		assert.Equal(t, second, updated[i])
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
	w := newWatched()
	o := Options{Share: w.sharing()}
	_, former := update(t, first, Former{}, o)
	for i := range 64 {
		second.Annotations = map[string]string{"a": strings.Repeat(string(rune('a'+i)), 64<<10)}
		update(t, second, former, o)
	}
	asked := w.table.Status().Misses
	update(t, first, Former{}, o)
	assert.Greater(t, w.table.Status().Misses+w.table.Status().Hits, asked, "no longer looked for")
}

// TestUpdateChecks checks that a modified part, or element of a changed list, is found and empties
// the table, which may have it too, that it is not in the new version, and that unmodified ones are
// reported as correct.
func TestUpdateChecks(t *testing.T) {
	for _, c := range []struct {
		in, image string
		right     int // the least number of unmodified parts
	}{{"Pod.spec", "image", 1}, {"PodSpec.containers", "another", 5}} {
		for _, against := range []bool{false, true} {
			first, second := updatedPod()
			second.Spec.Containers[1].Image = c.image
			w := newWatched()
			var a *corev1.Pod
			var former Former
			for range 3 {
				a, former = update(t, first, Former{}, Options{Share: w.sharing()})
			}
			require.NotZero(t, w.table.Status().Entries)
			w.right = 0
			if against {
				a.Spec.Containers[2].Image = "against the rule"
			}
			b, _ := update(t, second, former, Options{Share: w.sharing(), Checks: true})
			assert.Equal(t, second, b)
			if against {
				require.Len(t, w.written, 1)
				assert.Equal(t, c.in, w.written[0].In)
				assert.Zero(t, w.table.Status().Entries)
				continue
			}
			assert.Empty(t, w.written)
			assert.NotZero(t, w.table.Status().Entries)
			assert.GreaterOrEqual(t, w.right, c.right)
		}
	}
}

// TestUpdateBehindWritten checks that, if a modified part is found, the new version has none of the
// parts copied before it, which may be modified too.
func TestUpdateBehindWritten(t *testing.T) {
	first, second := updatedPod()
	second.ResourceVersion = first.ResourceVersion
	w := newWatched()
	o := Options{Share: w.sharing()}
	for range 100 * 1024 {
		a, former := update(t, first, Former{}, Options{})
		a.Annotations, a.Spec.NodeName = map[string]string{"against": "the rule"}, "against the rule"
		b, _ := update(t, second, former, o)
		if slices.ContainsFunc(w.written, func(part *Written) bool { return part.In == "Pod.spec" }) {
			assert.Equal(t, second, b)
			return
		}
	}
	assert.Fail(t, "nothing was checked")
}

// TestUpdateOfOtherTypes checks that an object of another type is not used as a former version, and
// that the fields of one message are not used for another.
func TestUpdateOfOtherTypes(t *testing.T) {
	first, second := updatedPod()
	_, former := update(t, first, Former{}, Options{})
	for _, other := range []any{&corev1.Node{}, (*corev1.Pod)(nil), "", nil} {
		b, _ := update(t, second, Former{Object: other, Row: former.Row}, Options{})
		assert.Equal(t, second, b)
	}
	var a, b corev1.Pod
	row, err := planOf(t, podType).Update([]byte("\x12\x03\x1a\x01x"), &a, Former{}, Options{})
	require.NoError(t, err)
	require.EqualValues(t, "x", a.Spec.RestartPolicy)
	_, err = planOf(t, podType).Update([]byte("\x0a\x03\x1a\x01x"), &b, Former{Object: &a, Row: row}, Options{})
	require.NoError(t, err)
	assert.Equal(t, "x", b.Namespace)
}

// TestUID checks that the UID is found in a message where servers write it, and nowhere else, and in
// a document at any position in the metadata, if it is plain.
func TestUID(t *testing.T) {
	pod, _ := updatedPod()
	whole, err := json.Marshal(pod)
	require.NoError(t, err)
	for e, uids := range map[Encoding]map[string]string{
		Protobuf: {
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
		},
		JSON: {
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
		},
	} {
		for data, uid := range uids {
			assert.Equal(t, uid, string(UID([]byte(data), e)), "%v: %q", e, data)
			assert.Empty(t, Namespace([]byte(data), e), "%v: %q", e, data)
		}
	}
	for e, namespaces := range map[Encoding]map[string]string{
		Protobuf: {
			"\x0a\x03\x1a\x01n":                   "n",
			"\x0a\x09\x0a\x01x\x1a\x01n\x2a\x01u": "n",
			"\x0a\x06\x2a\x01u\x1a\x01n":          "",
		},
		JSON: {
			`{"metadata":{"name":"x","namespace":"n","uid":"u"}}`: "n",
			`{"metadata":{"uid":"namespace"},"namespace":"n"}`:    "",
		},
	} {
		for data, namespace := range namespaces {
			assert.Equal(t, namespace, string(Namespace([]byte(data), e)), "%v: %q", e, data)
		}
	}
}
