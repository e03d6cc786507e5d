// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math/rand/v2"
	"testing"
)

// FuzzJSONObject decodes any bytes as any kind of object.
func FuzzJSONObject(f *testing.F) {
	types := append(oddTypes, kinds()...)
	f.Add(uint16(0), readFile(f, "testdata/pod.json"))
	for i := range types {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		if data := document(r, types[i], 50); len(data) < 2000 && i%5 == 0 {
			f.Add(uint16(i), data)
		}
	}
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		if hugeExponent.Match(data) {
			t.Skip()
		}
		sameJSON(t, types[int(kind)%len(types)], data, Options{Intern: table})
	})
}

// FuzzUnstructured decodes any bytes as an unstructured object.
func FuzzUnstructured(f *testing.F) {
	f.Add(readFile(f, "testdata/pod.json"))
	for seed := range uint64(20) {
		a := &author{r: rand.New(rand.NewPCG(seed, 9)), odd: 30}
		a.WriteString(`{"kind":"A","apiVersion":"v1","spec":`)
		a.anything(5)
		a.WriteString(`}`)
		f.Add(a.Bytes())
	}
	table := NewIntern(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte) { sameDocument(t, data, Options{Intern: table}) })
}
