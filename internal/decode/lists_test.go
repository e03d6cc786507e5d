// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// sameList reads a list by items, and requires of what was not given up that client-go's decoder
// makes the same of it.
func sameList(t testing.TB, data []byte, way func(io.Reader) io.Reader) error {
	t.Helper()
	list := NewListReader(way(bytes.NewReader(data)), 1<<20)
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	items := []corev1.Pod{}
	for {
		item, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		items = append(items, corev1.Pod{})
		if err := plan.JSON(item, &items[len(items)-1], Options{}); err != nil {
			return err
		}
	}
	require.Equal(t, len(items), list.Items())
	var stub, wanted corev1.PodList
	if err := utiljson.Unmarshal(list.Stub(), &stub); err != nil {
		return fmt.Errorf("%w: the stub: %w", ErrGiveUp, err)
	}
	require.NoError(t, utiljson.Unmarshal(data, &wanted), "%s", data)
	if len(items) > 0 {
		require.True(t, reflect.DeepEqual(wanted.Items[:1], stub.Items), "%s", data)
		stub.Items = items
	}
	require.True(t, reflect.DeepEqual(wanted, stub), "%s", data)
	return nil
}

// TestLists: items one by one, and the rest, make up the list that client-go reads.
func TestLists(t *testing.T) {
	pod := strings.TrimSpace(string(readFile(t, "testdata/pod.json")))
	meta := `"metadata":{"resourceVersion":"7","continue":"c\"]}","remainingItemCount":5}`
	for _, test := range []struct {
		name, data string
		err        error
	}{
		{"as built-in types", `{"kind":"PodList","apiVersion":"v1",` + meta + `,"items":[` + pod + `,` + pod + `]}` + "\n", nil},
		{"as custom resources", `{"apiVersion":"v1","items":[` + pod + `,` + pod + `,{}],"kind":"PodList",` + meta + `}`, nil},
		{"spaces", " \n{ \"items\" : [ {} ,\n{ } ] , \"kind\" : \"PodList\" } \n ", nil},
		{"none", `{"kind":"PodList","items":[]}`, nil},
		{"none and spaces", `{"items" : [ ] }`, nil},
		{"null", `{"items":null,"kind":"PodList"}`, nil},
		{"no items", `{"kind":"PodList"}`, nil},
		{"empty", `{}`, nil},
		{"other members", `{"a":1,"b":"x\"","c":[{"items":[1]}],"d":true,"e":null,"f":-1.5e3 ,"items":[{}],"Items":[1]}`, nil},
		{"no object", `[]`, ErrGiveUp},
		{"null list", `null`, ErrGiveUp},
		{"null item", `{"items":[{},null]}`, ErrGiveUp},
		{"text item", `{"items":["a"]}`, ErrGiveUp},
		{"items twice", `{"items":[{}],"items":[{}]}`, ErrGiveUp},
		{"items twice, null", `{"items":null,"items":[{}]}`, ErrGiveUp},
		{"items twice, null behind", `{"items":[{}],"items":null}`, ErrGiveUp},
		{"kind twice", `{"kind":"PodList","items":[{}],"kind":"OtherList"}`, ErrGiveUp}, // which one is it for the items?
		{"escape in a name", `{"items":[{}],"it\u0065ms":[]}`, ErrGiveUp},
		{"items are an object", `{"items":{}}`, ErrGiveUp},
		{"comma at the end of the items", `{"items":[{},]}`, ErrGiveUp},
		{"comma at their begin", `{"items":[,{}]}`, ErrGiveUp},
		{"no comma", `{"items":[{}{}]}`, ErrGiveUp},
		{"comma at the end", `{"items":[{}],}`, ErrGiveUp},
		{"no value", `{"items":,"kind":"a"}`, ErrGiveUp},
		{"no comma between members", `{"items":[]"kind":"a"}`, ErrGiveUp},
		{"something behind", `{"items":[]} {}`, ErrGiveUp},
		{"zero byte", "{\"items\":[\x00{}]}", ErrGiveUp},
		{"zero byte behind", "{\"items\":[{}]}\x00", ErrGiveUp},
		{"brackets that do not match", `{"items":[{"metadata":]]}`, ErrGiveUp},
		{"error in the rest", `{"items":[{}],"x":[01]}`, ErrGiveUp},
		{"error in an item", `{"items":[{"x":01}]}`, ErrGiveUp},
		{"long item", `{"items":[{"x":"` + strings.Repeat("x", 2<<20) + `"}]}`, ErrGiveUp},
		{"long rest", `{"items":[{}],"x":"` + strings.Repeat("x", 900<<10) + `","y":"` + strings.Repeat("x", 900<<10) + `"}`, ErrGiveUp},
		{"cut between items", `{"items":[{},`, io.ErrUnexpectedEOF},
		{"cut behind an item", `{"items":[{}`, io.ErrUnexpectedEOF},
		{"cut in an item", `{"items":[{"metadata":{"name":"a"`, io.ErrUnexpectedEOF},
		{"cut behind the items", `{"items":[{}]`, io.ErrUnexpectedEOF},
		{"nothing", ``, io.ErrUnexpectedEOF},
	} {
		for way, reader := range broken {
			switch {
			case len(test.data) > 100<<10 && way == "by bytes":
			case strings.HasPrefix(way, "error"):
				err := sameList(t, []byte(test.data), reader)
				assert.True(t, errors.Is(err, iotest.ErrTimeout) || errors.Is(err, test.err) && err != nil, "%s, %s: %v", test.name, way, err)
			default:
				assert.ErrorIs(t, sameList(t, []byte(test.data), reader), test.err, "%s, %s", test.name, way)
			}
		}
	}
}

// TestRandomLists: lists with random items, whole and damaged, in small pieces.
func TestRandomLists(t *testing.T) {
	decoded := 0
	for i := range uint64(200 * rounds()) {
		r := rand.New(rand.NewPCG(i, 13))
		data := document(r, reflect.TypeFor[corev1.PodList](), []int{0, 200}[r.IntN(2)])
		if r.IntN(2) == 0 {
			data = damaged(r, data, 1)
		}
		if err := sameList(t, data, iotest.HalfReader); err == nil {
			decoded++
		} else if !errors.Is(err, ErrGiveUp) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	assert.Greater(t, decoded, 40)
}
