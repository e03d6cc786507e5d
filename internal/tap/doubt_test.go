// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// named reports whether an object has one of the names.
func named(names ...string) func(runtime.Object) bool {
	return func(obj runtime.Object) bool {
		for _, name := range names {
			if obj.(metav1.Object).GetName() == name {
				return true
			}
		}
		return false
	}
}

// TestGivenUp: what our decoder gives up client-go decodes, in its place.
func TestGivenUp(t *testing.T) {
	refuses := func(o *tap.Options) { o.Make = taptest.SlowDecoders(named("p0", "p9", "p10", "p15", "p3"), nil) }
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, http2, lists, watches).config())
		source := tappedOf(k.make(t, newServer(t, http2, lists, watches).config(transport)), k.example, refuses)
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
		assert.EqualValues(t, 20-8-1-3, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 5}, source.ledger.State().GivenUp)
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.EqualValues(t, 20-8-1-3+16-5-1, source.ledger.State().Decoded)
		assert.Equal(t, map[string]int64{"refused": 10}, source.ledger.State().GivenUp)
	})
}

// TestMostlyGivenUp: a type that our decoder mostly gives up is left to client-go.
func TestMostlyGivenUp(t *testing.T) {
	var script []event
	for i := range 200 {
		script = append(script, event{watch.Added, pod(fmt.Sprintf("p%d", i), "9")})
	}
	for _, k := range podClients {
		server := newServer(t, false, nil, []answer{events(false, script...)})
		all := func(runtime.Object) bool { return true }
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.SlowDecoders(all, nil) })
		assert.Len(t, follow(t, source, firstWatch, 0).Events, 200)
		state := source.ledger.State()
		assert.Equal(t, "most objects cannot be decoded directly", state.Why)
		assert.EqualValues(t, 65, state.GivenUp["refused"])
	}
}

// TestPanics: a decoder that panics has given up.
func TestPanics(t *testing.T) {
	panics := func(obj runtime.Object) bool {
		if named("p9")(obj) {
			panic("secret")
		}
		return false
	}
	for _, k := range podClients {
		lists, watches := []answer{list("5", pods(20, "4")...)}, []answer{events(false, manyEvents()...)}
		plain := k.make(t, newServer(t, false, lists, watches).config())
		server := newServer(t, false, lists, watches)
		source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) { o.Make = taptest.SlowDecoders(panics, nil) })
		assert.Equal(t, follow(t, plain, firstWatch, 0), follow(t, source, firstWatch, 0))
		assert.Equal(t, map[string]int64{"the decoder panicked with a value of type string": 1}, source.ledger.State().GivenUp)
		_, err := source.ListWithContext(t.Context(), firstList)
		isDoubt(t, err)
		assert.NotContains(t, err.Error(), "secret")
		assert.Equal(t, ask(t, plain, firstList), ask(t, source, firstList))
	}
}

// damage makes a decoder wrong about an object.
func damage(name string) func(o *tap.Options) {
	return func(o *tap.Options) {
		o.Verify = 10
		o.Make = taptest.SlowDecoders(nil, func(obj runtime.Object) {
			if named(name)(obj) {
				obj.(metav1.Object).SetLabels(map[string]string{"app": "secret"})
			}
		})
	}
}

// difference is where damage shows.
func difference(k kind) string {
	if k.name == "dynamic" {
		return "a *unstructured.Unstructured, differs at object.Object[...][...]"
	}
	return fmt.Sprintf("a %T, differs at object.ObjectMeta.Labels", k.example)
}

// TestDifferentEvent: a watch in which an object was decoded wrongly ends with a Doubt, which names
// the place and no value; what follows is client-go's.
func TestDifferentEvent(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for name, before := range map[string]int{"p0": 0, "p7": 7, "p9": 9} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			got := follow(t, source, firstWatch, 0).Events
			require.Len(t, got, before+1)
			last := got[before]
			assert.Equal(t, watch.Error, last.Type)
			doubt := last.Object.(*tap.Doubt)
			assert.Contains(t, doubt.Why, "an event of a watch, "+difference(k))
			assert.NotContains(t, doubt.Why, "secret")
			state := source.ledger.State()
			assert.Equal(t, tap.State{Why: doubt.Why, Decoded: int64(max(0, before-8)), Verified: int64(min(before, 8)), Differences: 1}, state)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestDifferentItem: a list in which an item was decoded wrongly is none, and what follows is
// client-go's.
func TestDifferentItem(t *testing.T) {
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		for _, name := range []string{"p0", "p7", "p9", "p19"} {
			server := newServer(t, http2, []answer{list("5", pods(20, "4")...)}, []answer{events(true, manyEvents()...)})
			source := tappedOf(k.make(t, server.config(transport)), k.example, damage(name))
			_, err := source.ListWithContext(t.Context(), firstList)
			isDoubt(t, err)
			assert.Contains(t, err.Error(), "an item of the list, "+difference(k))
			assert.NotContains(t, err.Error(), "secret")
			state := source.ledger.State()
			assert.EqualValues(t, 1, state.Differences)
			assert.Zero(t, state.Decoded)
			assert.Len(t, ask(t, source, firstList).Items, 20)
			assert.Len(t, follow(t, source, firstWatch, len(manyEvents())).Events, len(manyEvents()))
			assert.Equal(t, state, source.ledger.State())
		}
	})
}

// TestUnnoticedDifference: between two samples nothing is compared, so the tests above do not pass
// by comparing all.
func TestUnnoticedDifference(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, damage("p10"))
	got := ask(t, source, firstList)
	require.Len(t, got.Items, 20)
	assert.Equal(t, "secret", got.Items[10].(metav1.Object).GetLabels()["app"])
}

// TestPagesAgree: each page is a list of its own, with a first item that goes both ways, and its
// token.
func TestPagesAgree(t *testing.T) {
	remaining := int64(15)
	lists := []answer{
		page(metav1.ListMeta{ResourceVersion: "5", Continue: "more", RemainingItemCount: &remaining}, pods(20, "4")...),
		page(metav1.ListMeta{ResourceVersion: "5"}, pods(15, "3")...),
	}
	everyKind(t, func(t *testing.T, k kind, http2 bool) {
		both := func(lw clientgo.ListerWatcherWithContext) (first, second heard) {
			first = ask(t, lw, firstList)
			return first, ask(t, lw, metav1.ListOptions{Limit: 500, Continue: first.Meta.Continue})
		}
		a, b := both(k.make(t, newServer(t, http2, lists, nil).config()))
		source := tappedOf(k.make(t, newServer(t, http2, lists, nil).config(transport)), k.example, nil)
		c, d := both(source)
		assert.Equal(t, a, c)
		assert.Equal(t, b, d)
		require.Len(t, d.Items, 15)
		assert.Equal(t, tap.State{On: true, Encoding: k.encoding, Decoded: 11 + 12, Verified: 9 + 3}, source.ledger.State())
	})
}

// TestSecretKeys: keys of maps are data, and no part of a path.
func TestSecretKeys(t *testing.T) {
	k := podClients[0]
	server := newServer(t, false, []answer{list("5", pods(20, "4")...)}, nil)
	source := tappedOf(k.make(t, server.config(transport)), k.example, func(o *tap.Options) {
		o.Make = taptest.SlowDecoders(nil, func(obj runtime.Object) { obj.(metav1.Object).GetLabels()["app"] = "other" })
	})
	_, err := source.ListWithContext(t.Context(), firstList)
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(err.Error(), "object.ObjectMeta.Labels[...]"), "%v", err)
}

// inJSON answers with a body.
func inJSON(body string) answer {
	return func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, []byte(body)) }
}

var (
	goodList = list("5", pods(20, "4")...)
	gateway  = inJSON(`{"error":"upstream unavailable"}`)
	aCutList = inJSON(string(taptest.Encoded(podList("5"), runtime.ContentTypeJSON)[:1000]))
	badItem  = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":7}}]}`)
	nullItem = inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},null]}`)
	aStatus  = inJSON(string(taptest.Encoded(statusOf(500, "InternalError"), runtime.ContentTypeJSON)))
	nodes    = inJSON(string(taptest.Encoded(&v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: make([]v1.Node, 2)}, runtime.ContentTypeJSON)))
)

var generatedJSON, dynamicJSON = kinds[1], kinds[4]

// answered returns a source with the library's decoders whose server answers lists so.
func answered(t *testing.T, k kind, answers ...answer) tapped {
	return tappedOf(k.make(t, newServer(t, false, answers, nil).config(transport)), k.example, usesOwn)
}

// asked lists so often, and says how each list came: directly, from the client, with a doubt that
// suspends, with one that is for good, or not at all.
func asked(t *testing.T, source tapped, times int) (how []string) {
	for range times {
		list, err := source.ListWithContext(t.Context(), firstList)
		word := "failed"
		if _, direct := list.(*tap.Page); direct {
			word = "direct"
		} else if err == nil {
			word = "client"
		} else if doubt, is := err.(*tap.Doubt); is {
			_, err := fmt.Sscan(doubt.Why, &word)
			assert.NoError(t, err)
			assert.Equal(t, doubt.Why, source.ledger.State().Why)
		}
		how = append(how, word)
	}
	return how
}

// TestOneOddAnswer: after an odd answer, and one that the client decodes, lists are decoded
// directly again.
func TestOneOddAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		k   kind
		odd answer
	}{
		"a gateway's error":          {dynamicJSON, gateway},
		"a list that is cut":         {generatedJSON, aCutList},
		"nothing":                    {generatedJSON, inJSON("")},
		"null":                       {generatedJSON, inJSON("null")},
		"one bad item":               {generatedJSON, badItem},
		"a null item":                {generatedJSON, nullItem},
		"a null item, unstructured":  {dynamicJSON, nullItem},
		"a status":                   {generatedJSON, aStatus},
		"a list of another kind":     {generatedJSON, nodes},
		"a list cut in unstructured": {dynamicJSON, aCutList},
	} {
		source := answered(t, c.k, c.odd, goodList)
		assert.Equal(t, []string{"suspended:", "client", "direct", "direct"}, asked(t, source, 4), name)
		assert.True(t, source.ledger.State().On, name)
		assert.Zero(t, source.ledger.State().Differences, name)
	}
}

// TestOddServer: answers that the client does not understand either say nothing about decoding,
// however often they come.
func TestOddServer(t *testing.T) {
	source := answered(t, generatedJSON, aCutList, aCutList, badItem, badItem, badItem, badItem, aStatus, aStatus, goodList)
	assert.Equal(t, []string{
		"suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "suspended:", "failed", "direct",
	}, asked(t, source, 9))
}

// TestThirdOddAnswer: the third answer that only the client understands ends decoding directly for
// good. Those that it does not understand do not count.
func TestThirdOddAnswer(t *testing.T) {
	source := answered(t, generatedJSON, nullItem, nullItem, badItem, badItem, nullItem, goodList, goodList, badItem, goodList)
	assert.Equal(t, []string{
		"suspended:", "client", "suspended:", "failed", "suspended:", "client", "direct", "suspended:",
	}, asked(t, source, 8))
	why := source.ledger.State().Why
	assert.Equal(t, []string{"client", "client"}, asked(t, source, 2))
	assert.Equal(t, "suspended: the client did not take the list, less items", why)
	assert.Equal(t, "off for good: the client did not take the list, less items", source.ledger.State().Why)
	assert.False(t, source.ledger.State().On)
}

// TestSuspendedToTheLastPage: a doubt is settled by a whole list, which is the client's: one that
// ends early because nobody wants it any more settles nothing.
func TestSuspendedToTheLastPage(t *testing.T) {
	first := page(metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, pods(20, "4")...)
	source := answered(t, generatedJSON, first, badItem, first, goodList, goodList)
	ctx, cancel := context.WithCancel(t.Context())
	assert.Equal(t, []string{"direct", "suspended:"}, asked(t, source, 2))
	cancel()
	_, err := source.ListWithContext(ctx, firstList)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"client", "client", "direct"}, asked(t, source, 3))
}

// TestSuspendedOverExpiry: a list whose version has expired between two pages settles nothing, and
// the list that the pager asks for in its place is the client's, too.
func TestSuspendedOverExpiry(t *testing.T) {
	first := inJSON(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"more"},"items":[{"metadata":{"name":"a"}},null]}`)
	source := answered(t, generatedJSON, first, first, status(410, metav1.StatusReasonExpired), nullItem, goodList)
	assert.Equal(t, []string{"suspended:", "client", "failed", "client", "direct"}, asked(t, source, 5))
}

// TestSuspendedForSeveral: a doubt counts once, however many lists are the client's because of it.
func TestSuspendedForSeveral(t *testing.T) {
	var requests, lists sync.WaitGroup
	requests.Add(3)
	together := func(w http.ResponseWriter, r *http.Request) {
		requests.Done()
		requests.Wait()
		goodList(w, r)
	}
	source := answered(t, generatedJSON, nullItem, together, together, together, goodList)
	assert.Equal(t, []string{"suspended:"}, asked(t, source, 1))
	for range 3 {
		lists.Go(func() { assert.Equal(t, []string{"client"}, asked(t, source, 1)) })
	}
	lists.Wait()
	assert.Equal(t, []string{"direct"}, asked(t, source, 1))
}

var gadgets = schema.GroupVersion{Group: "example.com", Version: "v1"}

// gadget has no place for its kind, sprocket a kind that is always the same, and knob a kind
// without a version.
type (
	gadget struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              map[string]string `json:"spec"`
	}
	gadgetList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []gadget `json:"items"`
	}
	sprocket     struct{ gadget }
	sprocketList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []sprocket `json:"items"`
	}
	knob struct {
		Kind string `json:"kind"`
		gadget
	}
	knobList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []knob `json:"items"`
	}
)

func (g *gadget) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

func (l *gadgetList) DeepCopyObject() runtime.Object { c := *l; return &c }

func (s *sprocket) GetObjectKind() schema.ObjectKind { return alwaysSprocket{} }

func (s *sprocket) DeepCopyObject() runtime.Object { c := *s; return &c }

func (l *sprocketList) DeepCopyObject() runtime.Object { c := *l; return &c }

func (k *knob) GetObjectKind() schema.ObjectKind { return k }

func (k *knob) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Kind: k.Kind}
}

func (k *knob) SetGroupVersionKind(kind schema.GroupVersionKind) { k.Kind = kind.Kind }

func (k *knob) DeepCopyObject() runtime.Object { c := *k; return &c }

func (l *knobList) DeepCopyObject() runtime.Object { c := *l; return &c }

// odds are examples of these types.
var odds = map[string]runtime.Object{"Gadget": &gadget{}, "Sprocket": &sprocket{}, "Knob": &knob{}}

type alwaysSprocket struct{}

func (alwaysSprocket) GroupVersionKind() schema.GroupVersionKind {
	return gadgets.WithKind("Sprocket")
}

func (alwaysSprocket) SetGroupVersionKind(schema.GroupVersionKind) {}

// ofGadgets is a kind of clients for one of these types.
func ofGadgets(name string, example runtime.Object) kind {
	return kind{name, "json", example, true, func(t testing.TB, c *rest.Config) clientgo.ListerWatcherWithContext {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, gadgets)
		scheme.AddKnownTypeWithName(gadgets.WithKind("Gadget"), &gadget{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("GadgetList"), &gadgetList{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("Sprocket"), &sprocket{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("SprocketList"), &sprocketList{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("Knob"), &knob{})
		scheme.AddKnownTypeWithName(gadgets.WithKind("KnobList"), &knobList{})
		c.APIPath, c.GroupVersion = "/apis", &gadgets
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientFor(c)
		require.NoError(t, err)
		return clientgo.NewListWatchFromClient(client, "gadgets", "space", fields.Everything())
	}}
}

// gadgetOf is a gadget that says that it is of that kind, in a frame if it is in an event.
func gadgetOf(kind, version, name string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"resourceVersion":"9"},"spec":{"some":"text"}}`, kind, version, name)
}

func gadgetFrame(event watch.EventType, object string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", event, object)
}

// TestKindOfEvents: an event of another version or kind ends the watch as it does without us, also
// if objects of the type do not tell kind and version: such watches are the client's, and that is
// told.
func TestKindOfEvents(t *testing.T) {
	for kind, example := range odds {
		for _, other := range [][2]string{{kind, "example.com/v2"}, {"Widget", "example.com/v1"}} {
			var frames [][]byte
			for i := range 20 {
				frames = append(frames, gadgetFrame(watch.Added, gadgetOf(kind, "example.com/v1", fmt.Sprint("g", i))))
			}
			frames = append(frames, gadgetFrame(watch.Modified, gadgetOf(other[0], other[1], "g3")), frames[0])
			watches := []answer{stream(false, runtime.ContentTypeJSON, frames...)}
			plain, direct, state := plainAndTapped(t, ofGadgets(kind, example), false, nil, watches,
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
			require.Equal(t, watch.Error, plain.Events[20].Type)
			assert.Equal(t, plain, direct)
			assert.Zero(t, state.Decoded)
			assert.Equal(t, "objects of the type do not tell their kind", state.Why)
			assert.Equal(t, map[string]int64{state.Why: 1}, state.GivenUp)
		}
	}
}

// TestKindOfItems: client-go does not look at the kinds of items of lists, so lists of such types
// are as they are without us.
func TestKindOfItems(t *testing.T) {
	for kind, example := range odds {
		items := ""
		for i := range 20 {
			items += gadgetOf(kind, "example.com/v1", fmt.Sprint("g", i)) + ","
		}
		items += gadgetOf("Widget", "example.com/v2", "other")
		body := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"5"},"items":[%s]}`, kind, items)
		lists := []answer{func(w http.ResponseWriter, r *http.Request) { reply(w, r, runtime.ContentTypeJSON, body) }}
		plain, direct, state := plainAndTapped(t, ofGadgets(kind, example), false, lists, nil,
			func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return ask(t, lw, firstList) })
		require.Len(t, plain.Items, 21)
		assert.Equal(t, plain, direct)
		assert.True(t, state.On)
	}
}

// TestSpellingsOfKind: client-go finds the kind of an event in any spelling, so an odd one is its
// own to judge.
func TestSpellingsOfKind(t *testing.T) {
	for _, odd := range []string{
		`"Kind":"Widget"`, `"KIND":"Pod"`, `"KIND":1`, `"APIVersion":"v2"`, `"apiversion":{}`, `"\u212aind":"Widget"`, "\"\u212aind\":\"Widget\"",
		"\"apiVer\u017fion\":\"v2\"", `"kinds":1`,
	} {
		for _, k := range []kind{kinds[1], kinds[4]} {
			k.own = true
			frames := jsonFrames(20)
			frames = append(frames, gadgetFrame(watch.Added, `{"kind":"Pod","apiVersion":"v1",`+odd+`,"metadata":{"name":"odd"}}`), frames[0])
			for i := range frames {
				frames[i] = append(frames[i], '\n')
			}
			plain, direct, _ := plainAndTapped(t, k, false, nil, []answer{stream(false, runtime.ContentTypeJSON, frames...)},
				func(t testing.TB, lw clientgo.ListerWatcherWithContext) heard { return follow(t, lw, firstWatch, 0) })
			require.Greater(t, len(plain.Events), 20)
			assert.Equal(t, plain, direct, "%s: %s", k.name, odd)
		}
	}
}
