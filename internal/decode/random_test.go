// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWrittenDocuments by tags: nothing but what no type could hold is given up, if nothing is odd.
func TestWrittenDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, kind := range append(kinds(), oddTypes...) {
		r := rand.New(rand.NewPCG(1, uint64(len(kind.Name()))))
		for range rounds() {
			data := document(r, kind, 0)
			decoded := sameJSON(t, kind, data, Options{Intern: table})
			require.True(t, decoded || slices.Contains(oddTypes, kind), "%v: %s", kind, data)
		}
	}
}

// TestOddDocuments: with one or many things odd in them.
func TestOddDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, odd := range []int{1000, 200, 30, 5} {
		decoded, total := 0, 0
		for i, kind := range append(kinds(), oddTypes...) {
			r := rand.New(rand.NewPCG(uint64(odd), uint64(i)))
			n := 3
			if slices.Contains(oddTypes, kind) {
				n = 100
			}
			for range n {
				total++
				if sameJSON(t, kind, document(r, kind, odd), Options{Intern: table}) {
					decoded++
				}
			}
		}
		t.Logf("one in %d odd: %d of %d decoded", odd, decoded, total)
		assert.Greater(t, decoded, total/20)
	}
}

// TestDamagedObjects: bytes changed, inserted, left out, copied and cut off.
func TestDamagedObjects(t *testing.T) {
	table := NewIntern(1 << 20)
	samples := []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[widget](),
		reflect.TypeFor[odd](),
	}
	decoded, total := 0, 0
	for i := range uint64(700 * rounds()) {
		r := rand.New(rand.NewPCG(i, 3))
		kind := samples[r.IntN(len(samples))]
		data := damaged(r, document(r, kind, 0), 1+r.IntN(3))
		total++
		if sameJSON(t, kind, data, Options{Intern: table}) {
			decoded++
		}
		sameDocument(t, data, Options{Intern: table})
	}
	t.Logf("%d of %d decoded", decoded, total)
	assert.Greater(t, decoded, total/50)
	assert.Less(t, decoded, total)
}

// TestUnstructuredDocuments with and without odd things.
func TestUnstructuredDocuments(t *testing.T) {
	table := NewIntern(1 << 20)
	for _, odd := range []int{0, 300, 20} {
		decoded := 0
		for i := range uint64(500 * rounds()) {
			a := &author{r: rand.New(rand.NewPCG(i, uint64(odd))), odd: odd}
			a.WriteString(`{"kind":"Widget","apiVersion":"v1",`)
			a.space()
			a.WriteString(`"spec":`)
			a.mapping(reflect.TypeFor[map[string]any](), 0)
			a.WriteString(`,"data":`)
			a.anything(4)
			if a.oddly() {
				a.WriteString(`,`)
				a.pick(oddKinds...)
			}
			a.WriteString(`}`)
			if sameDocument(t, a.Bytes(), Options{Intern: table}) {
				decoded++
			} else {
				require.NotZero(t, odd, "%s", a.Bytes())
			}
		}
		assert.Greater(t, decoded, 100)
	}
}

const damage = "{}[]\",:\\ \n0-.eEntfu/\x00\x7f\x80\xff"

// damaged changes a document in so many places.
func damaged(r *rand.Rand, data []byte, places int) []byte {
	for range places {
		if len(data) == 0 {
			return data
		}
		i, n := r.IntN(len(data)), 1+r.IntN(4)
		j := min(i+n, len(data))
		switch r.IntN(6) {
		case 0:
			data[i] ^= 1 << r.IntN(8)
		case 1:
			data = slices.Delete(data, i, j)
		case 2:
			data = slices.Insert(data, i, slices.Clone(data[i:j])...)
		case 3:
			data = slices.Insert(data, i, damage[r.IntN(len(damage))])
		case 4:
			data[i] = damage[r.IntN(len(damage))]
		case 5:
			if r.IntN(10) == 0 {
				data = data[:i]
			} else {
				k := r.IntN(len(data))
				data = slices.Insert(data, k, slices.Clone(data[i:min(i+30, len(data))])...)
			}
		}
	}
	return data
}
