// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
)

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
