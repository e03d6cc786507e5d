// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// usesOwn makes a source decode by the library's decoders.
func usesOwn(o *tap.Options) { o.Make = nil }

// listing returns a source of pods that has not asked for anything.
func listing(t *testing.T) tapped {
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	return tappedOf(generated(t, server.config(transport)), &v1.Pod{}, usesOwn)
}

// noTable waits until there is no table.
func noTable(t *testing.T) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if tap.SharedTexts() == nil {
			return
		}
	}
	require.Fail(t, "the table is still there")
}

// TestTextsEndWithTheirUsers: informers that run have one table, from their first decoder on; it is
// freed with the last of them, whatever remains of what they have decoded.
func TestTextsEndWithTheirUsers(t *testing.T) {
	noTable(t)
	first, second := listing(t), listing(t)
	endFirst, endSecond := first.Begin(), second.Begin()
	assert.Zero(t, first.ledger.State().Texts)
	assert.Nil(t, tap.SharedTexts(), "nobody decodes yet")
	got := ask(t, first, firstList)
	runtime.GC()
	assert.Zero(t, second.ledger.State().Texts)
	ask(t, second, firstList)
	texts := first.ledger.State().Texts
	assert.Greater(t, texts.Count, int64(5))
	assert.Greater(t, texts.Bytes, int64(0))
	assert.EqualValues(t, 16<<20, texts.Limit)
	assert.Equal(t, texts, second.ledger.State().Texts)

	endFirst()
	runtime.GC()
	assert.Zero(t, first.ledger.State().Texts)
	assert.Equal(t, texts, second.ledger.State().Texts)
	endSecond()
	assert.Zero(t, second.ledger.State().Texts)
	noTable(t)
	assert.Len(t, got.Items, 20)
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
}

// TestTextsWithoutAnEnd: what is asked for before the begin and after the end, and by a source that
// is never ended, keeps no table.
func TestTextsWithoutAnEnd(t *testing.T) {
	noTable(t)
	source := listing(t)
	ask(t, source, firstList)
	noTable(t)
	source.Begin()()
	ask(t, source, firstList)
	assert.Zero(t, source.ledger.State().Texts)
	noTable(t)
	again := source.Begin()
	ask(t, source, firstList)
	assert.NotZero(t, source.ledger.State().Texts)
	again()
	runtime.KeepAlive(source)
	func() {
		forgotten := listing(t)
		_ = forgotten.Begin()
		ask(t, forgotten, firstList)
		assert.NotZero(t, forgotten.ledger.State().Texts)
	}()
	noTable(t)
}

// TestTextsTogether: informers begin and end beside each other, and beside who looks at them and
// the garbage collector. All of them decode what they are sent.
func TestTextsTogether(t *testing.T) {
	plain := ask(t, listing(t).Plain(), firstList)
	var running sync.WaitGroup
	for range 4 {
		source := listing(t)
		running.Go(func() {
			for range 10 {
				end := source.Begin()
				assert.Equal(t, plain, ask(t, source, firstList))
				assert.NotZero(t, source.ledger.State().Texts)
				runtime.GC()
				end()
				assert.Zero(t, source.ledger.State().Texts)
			}
		})
	}
	running.Wait()
	noTable(t)
}

// noJSON is a type whose documents cannot be read by a plan.
type noJSON struct {
	metav1.TypeMeta `json:",inline"`
	//lint:ignore SA5008 the tag is odd on purpose
	Odd string `json:"od\"d"`
}

func (n *noJSON) DeepCopyObject() apiruntime.Object { c := *n; return &c }

// TestTextsAreForDecoders: where nothing is decoded directly no table is made.
func TestTextsAreForDecoders(t *testing.T) {
	noTable(t)
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	for _, c := range []struct {
		example any
		change  func(*tap.Options)
	}{
		{&v1.Pod{}, func(o *tap.Options) { o.Make, o.Off = nil, true }},
		{&noJSON{}, usesOwn},
		{&unstructured.Unstructured{}, usesOwn}, // not in protobuf
		{nil, usesOwn},
	} {
		source := tappedOf(generated(t, server.config(transport)), c.example, c.change)
		end := source.Begin()
		ask(t, source, firstList)
		assert.Nil(t, tap.SharedTexts(), "%v", reflect.TypeOf(c.example))
		assert.Zero(t, source.ledger.State().Texts)
		end()
	}
}

// secretClients are those of secrets.
var secretClients = []kind{
	{"protobuf", tap.Protobuf, &v1.Secret{}, true, secrets},
	{"JSON", tap.JSON, &v1.Secret{}, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		c.ContentType = apiruntime.ContentTypeJSON
		return secrets(t, c)
	}},
	{"dynamic", tap.JSON, &unstructured.Unstructured{}, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		d, err := dynamic.NewForConfig(c)
		require.NoError(t, err)
		return listWatchOf(d.Resource(v1.SchemeGroupVersion.WithResource("secrets")).Namespace("space"))
	}},
}

func secrets(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return listWatchOf(set.CoreV1().Secrets("space"))
}

const hidden = "hunter2"

func secret(i int) *v1.Secret {
	return &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), Namespace: "space", Labels: map[string]string{"app": "label-of-secrets"}},
		Data:       map[string][]byte{"key-" + hidden: []byte(hidden), "other": []byte(hidden + hidden)},
		StringData: map[string]string{"plain-" + hidden: hidden},
	}
}

// TestTextsOfSecrets: nothing of the data of secrets comes into the table, by whatever client and
// in whatever encoding they are listed and watched; where they are known to be secrets, nothing at
// all.
func TestTextsOfSecrets(t *testing.T) {
	all := &v1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	var script []event
	for i := range 40 {
		all.Items = append(all.Items, *secret(i))
		script = append(script, event{watch.Modified, secret(i)})
	}
	lists := func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, mediaOf(r), taptest.Encoded(all, mediaOf(r)))
	}
	for _, k := range secretClients {
		noTable(t)
		server := newServer(t, false, []answer{lists}, []answer{events(false, script...)})
		source := tappedOf(k.make(t, server.config(transport)), k.example, usesOwn)
		end := source.Begin()
		require.Len(t, ask(t, source, firstList).Items, 40)
		require.Len(t, follow(t, source, firstWatch, 0).Events, 40)
		state := source.ledger.State()
		assert.Equal(t, k.encoding, state.Encoding)
		assert.Greater(t, state.Decoded, int64(60), "%s: %+v", k.name, state)
		known := slices.Collect(tap.SharedTexts().All())
		end()
		if k.name != "dynamic" {
			assert.Empty(t, known, k.name)
			continue
		}
		assert.Subset(t, []string{"apiVersion", "v1", "kind", "Secret"}, known, "what comes before it is known to be a secret")
	}
}
