// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// check compares what a table says of itself with what is in it.
func (t *Parts) check(tb testing.TB) {
	tb.Helper()
	slots := *t.slots.Load()
	bytes, parts := int64(len(slots)*slotBytes), int64(0)
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			bytes, parts = bytes+e.size(), parts+1
			hash, found := t.find(e.of, e.raw)
			assert.Same(tb, e, found)
			assert.Equal(tb, e.hash, hash)
		}
	}
	assert.Equal(tb, bytes, t.bytes.Load())
	assert.Equal(tb, parts, t.entries.Load())
	assert.LessOrEqual(tb, bytes, t.limit)
}

// all returns the bytes of all parts.
func (t *Parts) all() (list [][]byte) {
	slots := *t.slots.Load()
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			list = append(list, e.raw)
		}
	}
	return list
}

func TestSizesOfParts(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(part{}), uintptr(partBytes))
}

// ask asks a table for a part as a decoder does, and returns what it has.
func (t *Parts) ask(of any, raw string) any {
	emptied := t.emptied.Load()
	hash, known := t.find(of, []byte(raw))
	if known != nil {
		return known.value.kept
	}
	if t.again(hash) {
		t.add(part{of: of, hash: hash, raw: []byte(raw), value: whole{kept: fmt.Sprint(of, raw)}, made: int64(4 * len(raw))}, emptied)
	}
	return nil
}

// TestPartsBounded: however many parts there are, and however large, a table stays below its limit,
// has for each node what was entered for that, and goes on sharing what is asked for often.
func TestPartsBounded(t *testing.T) {
	testkit.AtNight(t)
	for _, limit := range []int64{0, 1 << 20, 3 << 20} {
		table, hits := NewParts(limit), 0
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 100_000 {
			of, raw := r.IntN(2), fmt.Sprint("often-", r.IntN(100))
			if i%2 == 0 {
				n := r.IntN(10_000)
				raw = fmt.Sprintf("%0*d", 16+n%500, n)
			}
			if got := table.ask(of, raw); got != nil {
				hits++
				require.Equal(t, fmt.Sprint(of, raw), got)
			}
		}
		table.check(t)
		assert.Greater(t, hits, 20_000)
		assert.Greater(t, table.Status().Bytes, min(limit/3, 600<<10))
	}
}

// TestPartsKeepTheirBytes: the bytes that a part was decoded from may be written to afterwards.
func TestPartsKeepTheirBytes(t *testing.T) {
	table, raw := NewParts(0), []byte("as it was in the frame")
	hash, _ := table.find(1, raw)
	table.add(part{of: 1, hash: hash, raw: raw}, 0)
	copy(raw, "another")
	_, known := table.find(1, []byte("as it was in the frame"))
	assert.NotNil(t, known)
	_, known = table.find(1, raw)
	assert.Nil(t, known)
}

// TestPartsForget: what nobody asks for any more gives way to what is asked for now.
func TestPartsForget(t *testing.T) {
	const many = 5_000
	table := NewParts(1 << 20)
	for round := range 20 {
		hits := 0
		for i := range 4 * many {
			if table.ask(1, fmt.Sprintf("of round %04d, part %06d", round, i%many/10)) != nil {
				hits++
			}
		}
		assert.Greater(t, hits, 3*many, "round %d", round)
		for i := range 2 * many {
			table.ask(1, fmt.Sprintf("asked for twice in round %04d: %06d", round, i/2))
		}
		table.check(t)
	}
}

// TestPartsOnce: a part is in the table once, whoever else has entered it.
func TestPartsOnce(t *testing.T) {
	table := NewParts(0)
	hash, _ := table.find(1, []byte("wanted"))
	for range 3 {
		table.add(part{of: 1, hash: hash, raw: []byte("wanted")}, 0)
	}
	assert.Len(t, table.all(), 1)
	table.check(t)
}

// TestLargePart: a part does not take the place of all others.
func TestLargePart(t *testing.T) {
	table := NewParts(1 << 20)
	largest := 12_700 // with 4 times as much a sixteenth of 1 MiB, in blocks of the allocator
	for range 3 {
		table.ask(1, strings.Repeat("x", largest+100))
		table.ask(1, strings.Repeat("y", largest-100))
	}
	require.Len(t, table.all(), 1)
	assert.Equal(t, byte('y'), table.all()[0][0])
}

// TestPartsOfOneHash: a part whose bytes are others is none, though its hash is the same.
func TestPartsOfOneHash(t *testing.T) {
	table := NewParts(0)
	hash, _ := table.find(1, []byte("wanted"))
	table.add(part{of: 1, hash: hash, raw: []byte("anothe")}, 0)
	table.add(part{of: 2, hash: hash, raw: []byte("wanted")}, 0)
	assert.Len(t, table.all(), 2)
	_, found := table.find(1, []byte("wanted"))
	assert.Nil(t, found)
}

// TestPartsTogether: goroutines that use a table at a time all get what they asked for.
func TestPartsTogether(t *testing.T) {
	table := NewParts(256 << 10)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(user, 2))
			for range 20_000 {
				raw := fmt.Sprint("a part of some bytes ", r.IntN(2000))
				if got := table.ask(1, raw); got != nil && got != fmt.Sprint(1, raw) {
					panic("another part than was asked for")
				}
			}
		})
	}
	users.Wait()
	table.check(t)
}

// TestSharingIdles: where no object is like another few look for parts, and all do again soon after
// that has changed.
func TestSharingIdles(t *testing.T) {
	s := NewSharing(NewParts(0))
	looked := func(objects, found int) (n int) {
		for range objects {
			if s.parts() != nil {
				n++
				s.note(found, 1000)
			}
		}
		return n
	}
	assert.Equal(t, 1000, looked(1000, 0))
	looked(100, 0)
	assert.InDelta(t, 1600/probes, looked(1600, 0), 2)
	looked(3*probes*gainWindow/1000, 500)
	assert.Equal(t, 1000, looked(1000, 500))
	assert.Equal(t, 5000, looked(5000, 130), "an eighth is enough")
	looked(5000, 120)
	assert.Less(t, looked(1600, 120), 200)
	assert.Nil(t, (*Sharing)(nil).parts())
}

// twoOf decodes an object n times with one table and returns the last two.
func twoOf[T any](t *testing.T, table *Parts, data []byte, n int) (a, b *T) {
	t.Helper()
	o := Options{Intern: NewIntern(0), Share: NewSharing(table)}
	for range n {
		a, b = b, new(T)
		require.NoError(t, planOf(t, reflect.TypeFor[T]()).JSON(data, b, o))
	}
	return a, b
}

// twoMessages is twoOf for protobuf.
func twoMessages[T any](t *testing.T, table *Parts, data []byte, n int) (a, b *T) {
	t.Helper()
	o := Options{Intern: NewIntern(0), Share: NewSharing(table)}
	for range n {
		a, b = b, new(T)
		require.NoError(t, planOf(t, reflect.TypeFor[T]()).Protobuf(data, b, o))
	}
	return a, b
}

// podOfParts has one of each kind of part.
const podOfParts = `{
	"metadata":{"name":"a","labels":{"app":"some application","tier":"one of several"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{"f:conditions":{}}}}]},
	"spec":{
		"containers":[{"name":"a","command":["some","command","of","texts"],"resources":{"limits":{"cpu":"100m","memory":"1Gi"}},"securityContext":{"runAsUser":1000,"privileged":false}}],
		"volumes":[{"name":"plain","hostPath":{"path":"/some/path/on/the/host"}}]}}`

// inOneOfFour reports whether something is so of a new table, at the fourth try at the latest.
// Where an entry belongs is random: three of one pair of slots keep one of them out, once in some
// hundred tables of a few entries.
func inOneOfFour(is func() bool) bool {
	for range 4 {
		if is() {
			return true
		}
	}
	return false
}

// partsAreOne reports whether pods share their parts, and asserts that they are the same besides.
func partsAreOne(t *testing.T, a, b *corev1.Pod) bool {
	t.Helper()
	assert.Equal(t, a, b)
	assert.NotSame(t, a, b)
	assert.Equal(t, len(a.Spec.Containers), cap(a.Spec.Containers))
	assert.Equal(t, len(a.Spec.Containers[0].Command), cap(a.Spec.Containers[0].Command))
	same := func(a, b any) bool { return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() }
	return same(a.Labels, b.Labels) && same(a.ManagedFields, b.ManagedFields) &&
		same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.Volumes, b.Spec.Volumes)
}

// TestShared: from the third time on equal parts are one.
func TestShared(t *testing.T) {
	assert.True(t, inOneOfFour(func() bool {
		a, b := twoOf[corev1.Pod](t, NewParts(0), []byte(podOfParts), 4)
		return partsAreOne(t, a, b)
	}), "JSON")
	var pod corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(podOfParts), &pod))
	data, err := pod.Marshal()
	require.NoError(t, err)
	assert.True(t, inOneOfFour(func() bool {
		a, b := twoMessages[corev1.Pod](t, NewParts(0), data, 4)
		return partsAreOne(t, a, b)
	}), "protobuf")
}

// TestSharedDocuments: so it is with unstructured objects, but for their metadata and themselves
// where anything is different.
func TestSharedDocuments(t *testing.T) {
	table := NewParts(0)
	var spec []map[string]any
	for i := range 4 {
		data := fmt.Sprintf(`{"apiVersion":"a/v1","kind":"A","metadata":{"name":"a-%d"},"spec":{"some":["list",{"of":"values"}]}}`, i)
		object, err := Unstructured([]byte(data), Options{Share: NewSharing(table)})
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("a-%d", i), object["metadata"].(map[string]any)["name"])
		spec = append(spec, object["spec"].(map[string]any))
	}
	assert.Equal(t, spec[0], spec[3])
	assert.Equal(t, reflect.ValueOf(spec[2]).UnsafePointer(), reflect.ValueOf(spec[3]).UnsafePointer())
	assert.NotEqual(t, reflect.ValueOf(spec[0]).UnsafePointer(), reflect.ValueOf(spec[3]).UnsafePointer())
}

// TestRestlessParts: what writes to itself when it is read from is not shared, nor what has it in
// it; as a value of a map it is.
func TestRestlessParts(t *testing.T) {
	const pod = `{"spec":{
		"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}}],"resources":{"limits":{"memory":"1Gi","cpu":"100m"}}}],
		"volumes":[{"name":"v","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}]}}`
	check := func(a, b *corev1.Pod) {
		assert.Equal(t, a, b)
		assert.NotSame(t, &a.Spec.Containers[0], &b.Spec.Containers[0])
		assert.NotSame(t, a.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef, b.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef)
		assert.NotSame(t, &a.Spec.Volumes[0], &b.Spec.Volumes[0])
		assert.NotSame(t, a.Spec.Volumes[0].EmptyDir.SizeLimit, b.Spec.Volumes[0].EmptyDir.SizeLimit)
		limits := func(p *corev1.Pod) any { return p.Spec.Containers[0].Resources.Limits }
		assert.Equal(t, reflect.ValueOf(limits(a)).UnsafePointer(), reflect.ValueOf(limits(b)).UnsafePointer())
	}
	check(twoOf[corev1.Pod](t, NewParts(0), []byte(pod), 5))
	var object corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(pod), &object))
	data, err := object.Marshal()
	require.NoError(t, err)
	check(twoMessages[corev1.Pod](t, NewParts(0), data, 5))
	none := []byte(`{"spec":{"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}}`)
	a, b := twoOf[corev1.Pod](t, NewParts(0), none, 5)
	assert.NotSame(t, &a.Spec.Containers[0], &b.Spec.Containers[0], "zero is written to as well")
}

// TestSecretsHaveNoParts: nothing of a secret's data is kept, as whatever it is decoded.
func TestSecretsHaveNoParts(t *testing.T) {
	const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"app":"some application"},
		"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"password\":\"aHVudGVyMg==\"}}"}},
		"data":{"password":"aHVudGVyMg==","another":"aHVudGVyMg=="},"stringData":{"plain":"hunter2 and more","list":"hunter2"}}`
	table := NewParts(0)
	twoOf[corev1.Secret](t, table, []byte(secret), 5)
	twoOf[metav1.PartialObjectMetadata](t, table, []byte(secret), 5)
	for range 5 {
		_, err := Unstructured([]byte(secret), Options{Share: NewSharing(table)})
		require.NoError(t, err)
	}
	var object corev1.Secret
	require.NoError(t, json.Unmarshal([]byte(secret), &object))
	data, err := object.Marshal()
	require.NoError(t, err)
	twoMessages[corev1.Secret](t, table, data, 5)
	twoMessages[metav1.PartialObjectMetadata](t, table, data, 5)
	assert.NotEmpty(t, table.all(), "labels are shared")
	for _, raw := range table.all() {
		assert.NotContains(t, string(raw), "hunter2")
		assert.NotContains(t, string(raw), "aHVudGVyMg")
	}
}
