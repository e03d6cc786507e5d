// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// gadgetV1 is the type of a custom resource Gadget: its name is not that of the kind.
type gadgetV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              gadgetSpec `json:"spec"`
}

type gadgetSpec struct {
	IP       net.IP           `json:"ip,omitempty"`
	Codes    map[int32]string `json:"codes,omitempty"`
	Replicas int32            `json:"replicas,omitempty"`
	When     metav1.Time      `json:"when,omitempty"`
	For      metav1.Duration  `json:"for,omitempty"`
	Data     []byte           `json:"data,omitempty"`
	Number   json.Number      `json:"number,omitempty"`
	Level    level            `json:"level,omitempty"`
	Quoted   int              `json:"quoted,string,omitempty"`
}

// level quotes in its error what it has read.
type level int

func (l *level) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return fmt.Errorf("unknown level %s", text)
}

func (g *gadgetV1) DeepCopyObject() runtime.Object { other := *g; return &other }

type gadgetV1List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []gadgetV1 `json:"items"`
}

func (g *gadgetV1List) DeepCopyObject() runtime.Object { other := *g; return &other }

// lenientList has a decoder of its own, which takes a text for a number.
type lenientList gadgetV1List

func (g *lenientList) DeepCopyObject() runtime.Object { other := *g; return &other }

func (g *lenientList) UnmarshalJSON(data []byte) error {
	return json.Unmarshal([]byte(strings.ReplaceAll(string(data), `"replicas":"3"`, `"replicas":3`)), (*gadgetV1List)(g))
}

// gadgetServer answers lists with a body, and sends frames in watches, which then stay open.
type gadgetServer struct {
	mu             sync.Mutex
	list           string
	frames         func(from string) []string // may be nil
	lists, watches int
}

func (s *gadgetServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, write := io.Pipe()
	if r.URL.Query().Get("watch") == "" {
		s.lists++
		body := s.list
		go func() { _, _ = io.WriteString(write, body); _ = write.Close() }()
	} else {
		s.watches++
		var frames []string
		if s.frames != nil {
			frames = s.frames(r.URL.Query().Get("resourceVersion"))
		}
		go func() {
			time.Sleep(2 * time.Second) // longer than a very short watch
			for _, frame := range frames {
				if _, err := io.WriteString(write, frame+"\n"); err != nil {
					return
				}
			}
			<-r.Context().Done()
			_ = write.CloseWithError(r.Context().Err())
		}()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: r, Body: read}, nil
}

// listed returns the number of lists so far.
func (s *gadgetServer) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *gadgetServer) answers(list string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

// config returns a config for clients of a server, with the transport of package direct or without.
func gadgetConfig(wire http.RoundTripper, tapped bool) *rest.Config {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = runtime.ContentTypeJSON
	if tapped {
		c.Wrap(direct.Transport)
	}
	return c
}

var gadgetsV1 = schema.GroupVersion{Group: "g.io", Version: "v1"}

// typedGadgets returns a ListerWatcher of a typed client, for which lists of a kind have the type of list.
func typedGadgets(t *testing.T, c *rest.Config, kind string, list runtime.Object) *cache.ListWatch {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gadgetsV1.WithKind("Gadget"), &gadgetV1{})
	scheme.AddKnownTypeWithName(gadgetsV1.WithKind(kind), list)
	metav1.AddToGroupVersion(scheme, gadgetsV1)
	c.GroupVersion, c.APIPath = &gadgetsV1, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(c)
	require.NoError(t, err)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject()
			err := client.Get().Resource("gadgets").VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(into)
			return into, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return client.Get().Resource("gadgets").VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
		},
	}
}

// gadgetsOf returns an informer of a typed client.
func gadgetsOf(t *testing.T, wire http.RoundTripper, tapped bool, options kinformer.Options) cache.SharedIndexInformer {
	return kinformer.New(typedGadgets(t, gadgetConfig(wire, tapped), "GadgetList", &gadgetV1List{}), &gadgetV1{}, options)
}

// dynamicGadgets returns an informer of a dynamic client.
func dynamicGadgets(t *testing.T, c *rest.Config, options kinformer.Options) cache.SharedIndexInformer {
	client, err := dynamic.NewForConfig(c)
	require.NoError(t, err)
	of := client.Resource(gadgetsV1.WithResource("gadgets"))
	return kinformer.New(testkit.ListWatchOf(of), &unstructured.Unstructured{}, options)
}

// gadgetMetadata returns an informer of a client of metadata.
func gadgetMetadata(t *testing.T, c *rest.Config, options kinformer.Options) cache.SharedIndexInformer {
	client, err := metadata.NewForConfig(c)
	require.NoError(t, err)
	of := client.Resource(gadgetsV1.WithResource("gadgets"))
	return kinformer.New(testkit.ListWatchOf(of), &metav1.PartialObjectMetadata{}, options)
}

// byLists are the options of informers that request lists, and skip objects that cannot be decoded or do not.
func byLists(skips bool) kinformer.Options {
	return kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Errors: kinformer.Errors{SkipUndecodable: skips}}
}

func gadget(name, version, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"g.io/v1","kind":"Gadget","metadata":{"name":%q,"namespace":"space","resourceVersion":%q,"uid":"uid-%s"},"spec":%s}`, name, version, name, spec)
}

func modified(gadget string) string { return `{"type":"MODIFIED","object":` + gadget + `}` }

func gadgetList(version string, items ...string) string {
	return fmt.Sprintf(`{"apiVersion":"g.io/v1","items":[%s],"kind":"GadgetList","metadata":{"continue":"","resourceVersion":%q}}`, strings.Join(items, ","), version)
}
