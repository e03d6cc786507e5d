// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"flag"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/kinformer/cache/internal/testkit"
)

var partsFlag = flag.Int("decode.parts", 200_000, "how many parts, no two of which are the same, TestManyParts asks for")

// TestManyParts: a table stays small and goes on sharing beside parts that come twice and never
// again.
func TestManyParts(t *testing.T) {
	table, hits, begun := NewParts(1<<20), 0, time.Now()
	for i := range *partsFlag {
		raw := fmt.Sprintf("%016x", i)
		table.ask(1, raw)
		table.ask(1, raw)
		if i%8 == 0 && table.ask(1, fmt.Sprintf("often %016x", i/8%100)) != nil {
			hits++
		}
	}
	table.check(t)
	t.Logf("%v for each, %+v", time.Since(begun)/time.Duration(*partsFlag), table.Status())
	assert.Greater(t, hits, *partsFlag/8*9/10)
}

// TestAllOfOneHash: if all hashes are the same, or few, objects are what they are, and the table is
// what it says.
func TestAllOfOneHash(t *testing.T) {
	testkit.AtNight(t)
	for _, mask := range []uint64{0, 1, 1 << 40, 6} {
		table := NewParts(0)
		table.mask = mask
		o := Options{Share: NewSharing(table)}
		for i := range 2000 {
			// the last byte of a part is another one, as is another byte of another part
			data := fmt.Sprintf(`{"apiVersion":"a/v1","kind":"A","spec":{"texts":["the same","the same",%d]},"status":{"%03d":"the same"}}`, i/2%10, i/2%1000)
			require.True(t, sameDocument(t, []byte(data), Options{}))
			got, err := Unstructured([]byte(data), o)
			require.NoError(t, err)
			unshared, err := Unstructured([]byte(data), Options{})
			require.NoError(t, err)
			require.Equal(t, unshared, got)
		}
		table.check(t)
		assert.Less(t, len(table.all()), 10)
		assert.NotZero(t, table.Status().Hits)
	}
}

// TestDepthOfParts: parts that are found do not make documents deeper than they may be.
func TestDepthOfParts(t *testing.T) {
	table := NewParts(0)
	o := Options{Share: NewSharing(table)}
	const step = deepest - 10
	inner := ""
	for round := range 5 {
		inner = strings.Repeat("[", step) + inner + strings.Repeat("]", step)
		data := []byte(`{"apiVersion":"a/v1","kind":"A","spec":` + inner + `}`)
		for range 3 {
			_, err := Unstructured(data, o)
			assert.Equal(t, round == 0, err == nil, "round %d", round)
		}
	}
	data := []byte(`{"apiVersion":"a/v1","kind":"A","spec":` + strings.Repeat("[", deepest-1) + strings.Repeat("]", deepest-1) + `}`)
	for range 3 {
		_, err := Unstructured(data, o)
		assert.NoError(t, err)
	}
}

// allocated returns how much memory is allocated in f.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestOpenBrackets: a document that never ends takes no memory for its brackets, and what looks for
// them keeps none.
func TestOpenBrackets(t *testing.T) {
	o := Options{Share: NewSharing(NewParts(0))}
	data := append([]byte(`{"a":`), bytes.Repeat([]byte("["), 4<<20)...)
	assert.Less(t, allocated(func() {
		_, err := Unstructured(data, o)
		assert.ErrorIs(t, err, ErrGiveUp)
	}), uint64(256<<10))
}

// TestNestedPartsAreLookedForOnce: the work for a document is bounded by its length, however deep
// what is long lies in it.
func TestNestedPartsAreLookedForOnce(t *testing.T) {
	nested := `{"apiVersion":"a/v1","kind":"A","spec":` + strings.Repeat("[", deepest-1) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat("]", deepest-1) + `}`
	d := newReader([]byte(nested), Options{Share: NewSharing(NewParts(0))})
	_, ok := d.whole()
	assert.True(t, ok)
	assert.LessOrEqual(t, d.looked, lookedFor*len(nested))
	assert.Greater(t, d.looked, len(nested))
	require.NoError(t, d.release(true))
	for _, data := range [][]byte{[]byte(podOfParts), readFile(t, "testdata/pod.json")} {
		d := newReader(data, Options{Share: NewSharing(NewParts(0))})
		d.findBrackets()
		assert.True(t, planOf(t, reflect.TypeFor[corev1.Pod]()).root.node.json(d, placeIn(&corev1.Pod{})))
		assert.Less(t, d.looked, lookedFor*len(data)/2, "enough for what there is")
		require.NoError(t, d.release(true))
	}
}

// TestRefusedPartsAreNotCopied: what cannot go into the table costs no memory.
func TestRefusedPartsAreNotCopied(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	for _, data := range []string{
		`{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + long + `"}}}`,
		`{"apiVersion":"a/v1","kind":"A","spec":{"large":"` + long + `"}}`, // for a table of 64 KiB
		`{"apiVersion":"a/v1","kind":"A","spec":{"data":"` + long + `"}}`,
	} {
		shared, unshared := Options{Share: NewSharing(NewParts(0))}, Options{}
		decode := func(o Options) func() {
			return func() {
				for range 10 {
					_, err := Unstructured([]byte(data), o)
					assert.NoError(t, err)
				}
			}
		}
		decode(shared)()
		assert.Less(t, allocated(decode(shared)), allocated(decode(unshared))+50_000)
	}
}

// TestWidensBesideUsers: goroutines that find, enter and widen all get what they asked for, and
// each part is in the table once. What stayed out, because others were entering, enters when it is
// asked for alone.
func TestWidensBesideUsers(t *testing.T) {
	const parts = 6000 // 4,778 to 4,936 of them have a slot of their own in the end
	for range 5 {
		table := NewParts(8 << 20)
		askForAll := func() {
			for i := range 3 * parts {
				raw := fmt.Sprintf("%016x", i/3)
				if got := table.ask(1, raw); got != nil && got != fmt.Sprint(1, raw) {
					panic("another part than was asked for")
				}
			}
		}
		var users sync.WaitGroup
		for range 4 {
			users.Go(askForAll)
		}
		users.Wait()
		assert.Greater(t, table.checkOnce(t), smallestParts)
		askForAll()
		assert.Greater(t, table.checkOnce(t), parts/2)
	}
}

// checkOnce checks the table, and that each part is in it once, and returns how many there are.
func (t *Parts) checkOnce(tb testing.TB) int {
	t.check(tb)
	seen := map[string]bool{}
	for _, raw := range t.all() {
		assert.False(tb, seen[string(raw)], "%s", raw)
		seen[string(raw)] = true
	}
	return len(seen)
}

// TestRunsInTwo: fields of a list that are not in one piece are given up, whatever of them is in
// the table; what Unmarshal makes of them is more.
func TestRunsInTwo(t *testing.T) {
	first := &corev1.PodSpec{Containers: []corev1.Container{{Name: "the first container"}}, Hostname: "h"}
	second := &corev1.PodSpec{Containers: []corev1.Container{{Name: "the second container"}}}
	a, err := first.Marshal()
	require.NoError(t, err)
	b, err := second.Marshal()
	require.NoError(t, err)
	table := NewParts(0)
	twoMessages[corev1.PodSpec](t, table, a, 3)
	twoMessages[corev1.PodSpec](t, table, b, 3)
	var whole corev1.PodSpec
	both := append(bytes.Clone(a), b...)
	require.NoError(t, whole.Unmarshal(both))
	require.Len(t, whole.Containers, 2)
	o := Options{Share: NewSharing(table)}
	require.ErrorIs(t, planOf(t, reflect.TypeFor[corev1.PodSpec]()).Protobuf(both, new(corev1.PodSpec), o), ErrGiveUp)
	assert.False(t, sameProtobuf(t, reflect.TypeFor[corev1.PodSpec](), both, Options{}))
}

// TestDepthOfMessages: parts that are found do not make messages deeper than they may be, whatever
// comes first.
func TestDepthOfMessages(t *testing.T) {
	plan, o := planOf(t, reflect.TypeFor[schedulingv1beta1.CompositePodGroupTemplate]()), Options{Share: NewSharing(NewParts(8 << 20))}
	var data []byte
	for depth := 1; depth < 3*deepest; depth++ {
		for range 3 {
			err := plan.Protobuf(data, new(schedulingv1beta1.CompositePodGroupTemplate), o)
			require.Equal(t, depth <= deepest, err == nil, "%d: %v", depth, err)
		}
		data = appendField(nil, 9<<3|wireBytes, data)
	}
	assert.NotZero(t, o.Share.table.Status().Hits)
}
