// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// all returns the texts in a table.
func (t *Intern) all() []string { return slices.Collect(t.All()) }

// check compares what a table says of itself with what is in it.
func (t *Intern) check(tb testing.TB) {
	tb.Helper()
	slots := *t.slots.Load()
	bytes, texts := int64(len(slots)*slotBytes), int64(0)
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			bytes, texts = bytes+e.size(), texts+1
			assert.Contains(tb, []any{nil, e.text}, e.boxed)
			_, found := t.find([]byte(e.text))
			assert.Same(tb, e, found)
		}
	}
	assert.Equal(tb, bytes, t.bytes.Load())
	assert.Equal(tb, texts, t.entries.Load())
	assert.LessOrEqual(tb, bytes, t.limit)
}

func TestSizesOfEntries(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(lossySlot[interned]{}), uintptr(slotBytes))
	assert.LessOrEqual(t, unsafe.Sizeof(interned{})+unsafe.Sizeof(""), uintptr(entryBytes))
}

// TestIntern: equal texts are one from the second time on, whatever was in between, until the table
// is full.
func TestIntern(t *testing.T) {
	table := NewIntern(0)
	d := newReader(nil, Options{Intern: table})
	first, second, third := d.kept([]byte("text")), d.kept([]byte("text")), d.kept([]byte("text"))
	assert.Equal(t, "texttexttext", first+second+third)
	assert.Same(t, unsafe.StringData(second), unsafe.StringData(third))
	boxed := d.boxed([]byte("text"))
	assert.Equal(t, "text", boxed)
	assert.Same(t, unsafe.StringData(third), unsafe.StringData(boxed.(string)))

	long := []byte(strings.Repeat("l", longestInterned+1))
	d.private = true
	for range 3 {
		assert.Equal(t, "private", d.kept([]byte("private")))
		assert.Equal(t, "private", d.boxed([]byte("private")))
	}
	d.private = false
	for range 3 {
		assert.Equal(t, string(long), d.kept(long))
		assert.Equal(t, string(long), d.boxed(long))
	}
	assert.Equal(t, []string{"text"}, table.all())
	require.NoError(t, d.release(true))
	status := table.Status()
	assert.Equal(t, TableStatus{
		Entries: 1, Bytes: table.bytes.Load(), Limit: 64 << 10, Hits: 2, Misses: 2, Entered: 2,
	}, status)
	table.check(t)
}

// TestInternInTurns: two texts of the same slots that are asked for in turns both enter.
func TestInternInTurns(t *testing.T) {
	for range 30 { // tables, for their seeds differ
		table := NewIntern(0)
		slots := uint64(len(*table.slots.Load()))
		slot := func(text string) uint64 {
			hash, _ := table.find([]byte(text))
			return hash & (slots - 1) &^ 1
		}
		other := 1
		for slot(fmt.Sprint(other)) != slot("0") {
			other++
		}
		d := newReader(nil, Options{Intern: table})
		for range 2 {
			for _, text := range []string{"0", fmt.Sprint(other)} {
				require.Equal(t, text, d.kept([]byte(text)))
			}
		}
		assert.ElementsMatch(t, []string{"0", fmt.Sprint(other)}, table.all())
		require.NoError(t, d.release(true))
	}
}

// TestInternBounded: however many texts there are, the table stays below its limit, and goes on
// sharing what is asked for often.
func TestInternBounded(t *testing.T) {
	testkit.AtNight(t)
	for _, limit := range []int64{64 << 10, 1 << 20, 3 << 20} {
		table := NewIntern(limit)
		d := newReader(nil, Options{Intern: table})
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 200_000 {
			text := fmt.Sprint("often-", r.IntN(200))
			if i%2 == 0 {
				text = fmt.Sprintf("text-%040d", r.IntN(30_000))
			}
			if i%3 == 0 {
				require.Equal(t, text, d.boxed([]byte(text)))
			} else {
				require.Equal(t, text, d.kept([]byte(text)))
			}
		}
		require.NoError(t, d.release(true))
		table.check(t)
		assert.Greater(t, table.Status().Hits, int64(80_000), "%+v", table.Status())
		assert.Greater(t, table.Status().Bytes, min(limit/3, 600<<10))
	}
}

// TestInternTogether: goroutines that use a table at a time all get what they asked for.
func TestInternTogether(t *testing.T) {
	table := NewIntern(256 << 10)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			d := newReader(nil, Options{Intern: table})
			r := rand.New(rand.NewPCG(user, 2))
			for range 20_000 {
				text := fmt.Sprint("text-", r.IntN(5000))
				if d.kept([]byte(text)) != text || d.boxed([]byte(text)) != text {
					panic("another text than was asked for")
				}
			}
			_ = d.release(true)
		})
	}
	users.Wait()
	table.check(t)
}

// TestSecrets: nothing of a secret's data gets into a table, as whatever it is decoded; labels do.
func TestSecrets(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	for _, order := range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"},"annotations":{"last-applied":"%[1]s"}},"data":{"key-%[1]s":"%[1]s"},"stringData":{"plain":"hunter2"}}`,
		`{"apiVersion":"v1","data":{"key-%[1]s":"%[1]s"},"kind":"Secret","metadata":{"labels":{"app":"label-1"}},"stringData":{"plain":"hunter2"}}`,
		`{"d\u0061ta":{"key-%[1]s":"%[1]s"},"stringData":{"plain":["hunter2",{"a":"hunter2"}]},"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"}}}`,
	} {
		data := fmt.Appendf(nil, order, secret)
		assert.True(t, inOneOfFour(func() bool {
			known := strings.Contains(order, "annotations") // only its type tells before them that it is a secret
			table := tableOfSecrets(t, data, known)
			for _, text := range table.all() {
				assert.NotContains(t, text, secret)
				assert.NotContains(t, text, "hunter2")
				assert.NotContains(t, text, "plain")
			}
			return known || slices.Contains(table.all(), "label-1") && slices.Contains(table.all(), "kind")
		}), "what is beside the data is shared: %s", order)
	}
}

// tableOfSecrets decodes a secret several times, as what it is and, unless that is known, as what
// it is not.
func tableOfSecrets(t *testing.T, data []byte, known bool) *Intern {
	t.Helper()
	table := NewIntern(0)
	for range 4 {
		var into corev1.Secret
		_ = planOf(t, reflect.TypeFor[corev1.Secret]()).JSON(data, &into, Options{Intern: table})
		if known {
			continue
		}
		var widget struct {
			Data, StringData any
			AnyData          any `json:"data"`
			AnyStringData    any `json:"stringData"`
			Metadata         any `json:"metadata"`
		}
		_ = planOf(t, reflect.TypeOf(widget)).JSON(data, &widget, Options{Intern: table})
		sameDocument(t, data, Options{Intern: table})
	}
	return table
}

// TestSecretsWithin: also where it is not the whole that is a secret, and in what is not its data.
func TestSecretsWithin(t *testing.T) {
	table := NewIntern(0)
	data := `{"metadata":{"annotations":{"applied":"hunter2"}},"data":{"key-hunter2":"aHVudGVyMg=="},"type":"hunter2"}`
	list := []byte(`{"metadata":{"continue":"label-1"},"items":[` + data + `,` + data + `,` + data + `]}`)
	for range 3 {
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.Secret](), []byte(data), Options{Intern: table}))
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.SecretList](), list, Options{Intern: table}))
	}
	assert.Equal(t, []string{"label-1"}, table.all())
}

// TestTogether: goroutines read by one plan, of a type that is seen for the first time.
func TestTogether(t *testing.T) {
	type object struct {
		corev1.PodSpec
		Own []widget
	}
	table := NewIntern(0)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(user, 2))
			for range 50 {
				sameJSON(t, reflect.TypeFor[object](), document(r, reflect.TypeFor[object](), 100), Options{Intern: table})
			}
		})
	}
	users.Wait()
	table.check(t)
}

// TestReaderForgets: what was read is not held on to by what reads the next document.
func TestReaderForgets(t *testing.T) {
	d := newReader([]byte(`["a",{"b":"c","d":["e",`), Options{})
	_, ok := d.document()
	require.False(t, ok)
	require.Error(t, d.release(false))
	assert.Nil(t, d.data)
	for _, p := range d.pairs[:cap(d.pairs)] {
		assert.Zero(t, p)
	}
	for _, v := range d.values[:cap(d.values)] {
		assert.Nil(t, v)
	}
}
