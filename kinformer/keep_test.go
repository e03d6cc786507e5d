// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// TestKeepOptions: what cannot be kept is refused before Run, with what can be.
func TestKeepOptions(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	unstructuredPod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	for name, c := range map[string]struct {
		example kruntime.Object
		options kinformer.Decoding
		why     string
	}{
		"nearest":           {&v1.Pod{}, kinformer.Decoding{Keep: []string{"spec.nodename"}}, `Decoding.Keep: "spec.nodename": there is no spec.nodename: did you mean spec.nodeName?`},
		"form":              {&v1.Pod{}, kinformer.Decoding{Keep: []string{"spec..x"}}, `"spec..x": it is no path`},
		"untyped form":      {unstructuredPod, kinformer.Decoding{Keep: []string{"spec[x"}}, `"spec[x": it is no path`},
		"own decoder":       {&v1.Pod{}, kinformer.Decoding{Keep: []string{"status.startTime.x"}}, "keep the whole of it"},
		"metadata":          {&v1.Pod{}, kinformer.Decoding{Keep: []string{"metadata"}}, "all of the metadata is kept but annotations and managedFields"},
		"managed":           {&v1.Pod{}, kinformer.Decoding{Keep: []string{"metadata.managedFields"}}, "set Decoding.PartialWrites"},
		"managed untyped":   {unstructuredPod, kinformer.Decoding{Keep: []string{"metadata[managedFields]"}}, "set Decoding.PartialWrites"},
		"managed metadata":  {&metav1.PartialObjectMetadata{}, kinformer.Decoding{Keep: []string{"spec.nodeName"}}, "there is no spec"},
		"no example":        {nil, kinformer.Decoding{Keep: []string{}}, "the type of the objects is not known"},
		"no metadata":       {&metav1.Status{}, kinformer.Decoding{Keep: []string{}}, "have no field metadata"},
		"whole alone":       {&v1.Pod{}, kinformer.Decoding{Whole: mine}, "set Keep, which may be empty"},
		"writes alone":      {&v1.Pod{}, kinformer.Decoding{PartialWrites: true}, "set Keep, which may be empty"},
		"all is as it was":  {&v1.Pod{}, kinformer.Decoding{}, ""},
		"metadata only":     {&v1.Pod{}, kinformer.Decoding{Keep: []string{}}, ""},
		"fields":            {&v1.Pod{}, kinformer.Decoding{Keep: []string{"spec.volumes.configMap", "metadata.annotations[example.com/x]"}, Whole: mine}, ""},
		"untyped anything":  {unstructuredPod, kinformer.Decoding{Keep: []string{"spec.nodename"}}, ""},
		"allowed":           {&v1.Pod{}, kinformer.Decoding{Keep: []string{"metadata.managedFields"}, PartialWrites: true}, ""},
		"beside Off":        {&v1.Pod{}, kinformer.Decoding{Off: true, Keep: []string{"spec"}}, ""},
		"beside Drop":       {&v1.Pod{}, kinformer.Decoding{Keep: []string{"metadata.annotations"}, Drop: []string{"metadata.annotations[a]"}}, ""},
		"metadata informer": {&metav1.PartialObjectMetadata{}, kinformer.Decoding{Keep: []string{"metadata.annotations[a]"}}, ""},
	} {
		status, err := inspect.StatusOf(kinformer.New(informers.Quiet(), c.example, kinformer.Options{Decoding: c.options}))
		require.NoError(t, err)
		if c.why == "" {
			assert.NoError(t, status.LastError, name)
			assert.Equal(t, c.options.Keep, status.Decoding.Keep, name)
			continue
		}
		assert.ErrorContains(t, status.LastError, c.why, name)
	}
}

// TestOptionsForKinds: a constructor has options for kinds, and refuses two for one kind.
func TestOptionsForKinds(t *testing.T) {
	kept := func(keep ...string) kinformer.Options {
		return kinformer.Options{Decoding: kinformer.Decoding{Keep: keep}}
	}
	widget := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind}}
	}
	base := kept("spec")
	base.For = map[kruntime.Object]kinformer.Options{&v1.Pod{}: kept("spec.nodeName"), &v1.Node{}: {}, widget("Widget"): kept("spec.size")}
	construct := kinformer.Constructor(base)
	for _, c := range []struct {
		example kruntime.Object
		want    []string
	}{
		{&v1.Pod{}, []string{"spec.nodeName"}}, {&v1.Node{}, nil}, {&v1.Service{}, []string{"spec"}},
		{widget("Widget"), []string{"spec.size"}}, {widget("Gadget"), []string{"spec"}},
	} {
		status, err := inspect.StatusOf(construct(informers.Quiet(), c.example, 0, cache.Indexers{}))
		require.NoError(t, err)
		require.NoError(t, status.LastError)
		assert.Equal(t, c.want, status.Decoding.Keep, "%T", c.example)
	}
	nested := base
	nested.For = map[kruntime.Object]kinformer.Options{&v1.Pod{}: base}
	twice := base
	twice.For = map[kruntime.Object]kinformer.Options{&v1.Pod{}: {}, (&v1.Pod{}).DeepCopy(): {}}
	for _, bad := range []kinformer.Options{nested, twice} {
		status, err := inspect.StatusOf(kinformer.New(informers.Quiet(), &v1.Pod{}, bad))
		require.NoError(t, err)
		assert.ErrorContains(t, status.LastError, "leave out one of them")
	}
}

// keepServer has pods, and events that change them. It accepts all updates.
type keepServer struct {
	*taptest.Wire
	mu      sync.Mutex
	pods    []*v1.Pod
	events  []watch.Event
	updates []string // paths
}

func keptPod(name, version string, mine bool) *v1.Pod {
	p := informers.WirePod(0, version)
	p.Name, p.UID = name, "uid-of-"+p.UID
	p.Spec = v1.PodSpec{NodeName: "node", ServiceAccountName: "account", Containers: []v1.Container{{
		Name: "main", Image: strings.Repeat("image", 300), Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 80}},
	}}}
	p.Status.Phase = v1.PodRunning
	if mine {
		p.Labels["mine"] = "yes"
	}
	return p
}

func newKeepServer(media string) *keepServer {
	s := &keepServer{Wire: &taptest.Wire{Media: media}}
	for i := range 30 {
		s.pods = append(s.pods, keptPod(fmt.Sprintf("p%02d", i), fmt.Sprint(10+i), i%10 == 0))
	}
	for i := range 60 { // changes its form twice
		p := keptPod(fmt.Sprintf("p%02d", i%30), fmt.Sprint(100+i), (i+i/30)%10 == 1)
		p.Status.Message = fmt.Sprint(i)
		s.events = append(s.events, watch.Event{Type: watch.Modified, Object: p})
	}
	s.events = append(s.events, watch.Event{Type: watch.Deleted, Object: keptPod("p07", "200", false)})
	s.Answer = s.answer
	return s
}

func (s *keepServer) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch query := r.URL.Query(); {
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		s.updates = append(s.updates, r.URL.Path)
		return [][]byte{body}, false
	case query.Get("watch") == "":
		list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "50"}}
		for _, p := range s.pods {
			list.Items = append(list.Items, *p)
		}
		return [][]byte{taptest.Encoded(list, s.Media)}, false
	case query.Get("sendInitialEvents") == "true":
		for _, p := range s.pods {
			pieces = append(pieces, taptest.Frame(watch.Added, p, s.Media))
		}
		pieces = append(pieces, taptest.Frame(watch.Bookmark, testkit.EndMark("50").Object, s.Media))
	}
	for _, e := range s.events {
		pieces = append(pieces, taptest.Frame(e.Type, e.Object, s.Media))
	}
	s.events = nil
	return pieces, true
}

// keptRun is what an informer has heard and stored.
type keptRun struct {
	heard, transformed []string
	stored             map[string]string
	status             inspect.Status
}

// textOf describes what a pod has.
func textOf(obj any) string {
	p := obj.(*v1.Pod)
	text := fmt.Sprint(p.Name, p.ResourceVersion, p.Labels, p.Annotations, len(p.ManagedFields), p.Spec.NodeName, p.Spec.ServiceAccountName, p.Status.Phase, p.Status.Message)
	for _, c := range p.Spec.Containers {
		text += fmt.Sprint(c.Name, len(c.Image), c.Ports)
	}
	return text
}

// runKept runs an informer on a server. The transform function is one that copies what it changes: nothing.
func runKept(t *testing.T, media string, wrap, transforms bool, options kinformer.Options) (got keptRun) {
	synctest.Test(t, func(t *testing.T) {
		server := newKeepServer(media)
		informer := kinformer.New(informers.ClientOver(t, server, media, wrap), &v1.Pod{}, options)
		var mu sync.Mutex
		if transforms {
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				got.transformed = append(got.transformed, textOf(obj))
				return obj, nil
			}))
		}
		informers.Handle(t, informer, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { got.heard = append(got.heard, "add "+textOf(obj)) },
			UpdateFunc: func(from, to any) { got.heard = append(got.heard, "update "+textOf(from)+" to "+textOf(to)) },
			DeleteFunc: func(obj any) { got.heard = append(got.heard, "delete "+textOf(obj)) },
		})
		stop := informers.Run(t, informer)
		time.Sleep(10 * time.Second)
		got.status, _ = inspect.StatusOf(informer)
		got.stored = map[string]string{}
		for _, obj := range informer.GetStore().List() {
			got.stored[obj.(*v1.Pod).Name] = textOf(obj)
		}
		stop()
	})
	return got
}

// TestKeep: handlers, readers and the transform function see the same, whoever decodes and lists: the fields that are kept,
// and all of those of whole objects, which begin and cease to be whole.
func TestKeep(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	for _, whole := range []labels.Selector{nil, mine} {
		keep := kinformer.Decoding{Keep: []string{"spec.nodeName", "spec.containers.ports", "metadata.annotations[kept]"}, Whole: whole}
		want := runKept(t, kruntime.ContentTypeJSON, false, true, kinformer.Options{Decoding: keep})
		require.Len(t, want.heard, 30+61)
		require.Len(t, want.stored, 29)
		seen := want.heard[0] // whole, if any is
		assert.Equal(t, whole != nil, strings.Contains(seen, "account"), seen)
		assert.Equal(t, whole != nil, strings.Contains(seen, "dropped"), seen)
		assert.Equal(t, "add p0111map[app:right] map[kept:some text that stays] 0node0 [{http 0 80  }]", want.heard[1])
		assert.Equal(t, keep.Keep, want.status.Decoding.Keep)
		if whole != nil {
			assert.Equal(t, "mine=yes", want.status.Decoding.Whole)
			assert.Equal(t, 3, want.status.Decoding.WholeObjects)
		}
		for _, media := range []string{kruntime.ContentTypeJSON, kruntime.ContentTypeProtobuf} {
			for _, mode := range decodingModes {
				for _, share := range []bool{false, true} {
					for _, transforms := range []bool{false, true} {
						options := kinformer.Options{Decoding: keep, Requests: kinformer.Requests{Mode: mode}}
						options.Decoding.ShareParts, options.Decoding.TransformCopies = share, share
						got := runKept(t, media, true, transforms, options)
						about := fmt.Sprint(media, mode, share, transforms)
						assert.Equal(t, want.heard, got.heard, about)
						assert.Equal(t, want.stored, got.stored, about)
						if transforms {
							assert.ElementsMatch(t, want.transformed, got.transformed, about)
						}
						assert.True(t, got.status.Decoding.On, about)
						assert.Zero(t, got.status.Decoding.Verified.Differences, about)
					}
				}
			}
		}
		t.Setenv("KINFORMER", "off")
		got := runKept(t, kruntime.ContentTypeProtobuf, true, true, kinformer.Options{Decoding: keep})
		assert.ElementsMatch(t, want.heard, got.heard)
		assert.Equal(t, want.stored, got.stored)
		t.Setenv("KINFORMER", "")
	}
}

// TestKeepThenDrop: Drop removes what is kept.
func TestKeepThenDrop(t *testing.T) {
	got := runKept(t, kruntime.ContentTypeProtobuf, true, true, kinformer.Options{Decoding: kinformer.Decoding{
		Keep: []string{"metadata.annotations"}, Drop: []string{"metadata.annotations[dropped]"},
	}})
	require.Len(t, got.heard, 30+61)
	require.NotEmpty(t, got.transformed)
	for _, seen := range append(got.transformed, got.heard...) {
		assert.Contains(t, seen, "map[kept:some text that stays]")
		assert.NotContains(t, seen, "dropped")
	}
}

// hosts counts servers: an informer that has ended is guarded as long as it is in memory.
var hosts atomic.Int32

// guarded runs an informer on a server until the end of the test, and returns a client that writes to it.
func guarded(t *testing.T, media string, options kinformer.Options, wrap ...func(http.RoundTripper) http.RoundTripper) (*keepServer, cache.SharedIndexInformer, *kubernetes.Clientset, func()) {
	server := newKeepServer(media)
	config := &rest.Config{Host: fmt.Sprintf("http://host%d/prefix/api", hosts.Add(1)), Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: media}}
	for _, w := range append(wrap, direct.Transport) {
		config.Wrap(w)
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	informer := kinformer.New(direct.NewListWatch(client.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil), &v1.Pod{}, options)
	stop := informers.Run(t, informer)
	time.Sleep(10 * time.Second)
	return server, informer, client, stop
}

// writes makes updates of a pod in the ways that carry it.
var writes = map[string]func(context.Context, *kubernetes.Clientset, *v1.Pod) error{
	"": func(ctx context.Context, c *kubernetes.Clientset, p *v1.Pod) error {
		_, err := c.CoreV1().Pods(p.Namespace).Update(ctx, p, metav1.UpdateOptions{})
		return err
	},
	"/status": func(ctx context.Context, c *kubernetes.Clientset, p *v1.Pod) error {
		_, err := c.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		return err
	},
	"/resize": func(ctx context.Context, c *kubernetes.Clientset, p *v1.Pod) error {
		_, err := c.CoreV1().Pods(p.Namespace).UpdateResize(ctx, p.Name, p, metav1.UpdateOptions{})
		return err
	},
	"/ephemeralcontainers": func(ctx context.Context, c *kubernetes.Clientset, p *v1.Pod) error {
		_, err := c.CoreV1().Pods(p.Namespace).UpdateEphemeralContainers(ctx, p.Name, p, metav1.UpdateOptions{})
		return err
	},
}

// TestGuard: an object with some of its fields cannot be written, by any way that carries it, before and after the end of
// its informer, also if that is client-go's. Everything else is written.
func TestGuard(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	for _, media := range []string{kruntime.ContentTypeJSON, kruntime.ContentTypeProtobuf} {
		for _, engine := range []string{"", "client-go"} {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				server, informer, client, stop := guarded(t, media, kinformer.Options{Engine: engine, Decoding: kinformer.Decoding{Keep: []string{"spec.nodeName"}, Whole: mine}})
				stored := func(name string) *v1.Pod {
					obj, exists, err := informer.GetStore().GetByKey("space/" + name)
					require.NoError(t, err)
					require.True(t, exists)
					return obj.(*v1.Pod).DeepCopy()
				}
				for way, write := range writes {
					err := write(ctx, client, stored("p02"))
					require.Error(t, err, way)
					assert.Contains(t, err.Error(), `the update of space/p02 of pods is refused: its body has no managedFields, and the informer of pods.v1 has only the fields of Decoding.Keep`)
					assert.Contains(t, err.Error(), "a live Get")
					assert.NotContains(t, err.Error(), "account")
					assert.Empty(t, server.updates)
					assert.NoError(t, write(ctx, client, keptPod("p02", "200", false)), "from a live Get")
					whole := stored(wholeIn(informer))
					whole.ManagedFields = nil
					assert.NoError(t, write(ctx, client, whole), "whole")
					other := stored("p02")
					other.Name = "unknown"
					assert.NoError(t, write(ctx, client, other), "not in the store")
					assert.Equal(t, []string{
						"/prefix/api/api/v1/namespaces/space/pods/p02" + way, "/prefix/api/api/v1/namespaces/space/pods/" + whole.Name + way, "/prefix/api/api/v1/namespaces/space/pods/unknown" + way,
					}, server.updates)
					server.updates = nil
				}
				put := func(path string, body any) error {
					return client.CoreV1().RESTClient().Put().AbsPath("/api/v1/namespaces/space/" + path).Body(body).Do(ctx).Error()
				}
				assert.NoError(t, put("pods/p02/scale", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "p02"}}))
				assert.NoError(t, put("pods/p02/proxy/some/path", []byte(`{"metadata":{"name":"p02"}}`)))
				assert.NoError(t, put("configmaps/p02", &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "p02"}}), "of another resource")
				assert.NoError(t, put("pods/p02/other", []byte(`{"spec":{}}`)), "without the name it is another object")
				assert.ErrorContains(t, put("pods/p02", []byte("no JSON")), "its body cannot be read")
				live := keptPod("p02", "200", false)
				inCBOR, err := cbor.Marshal(live)
				require.NoError(t, err)
				assert.NoError(t, put("pods/p02", append([]byte("\xd9\xd9\xf7"), inCBOR...)), "CBOR of a live Get")
				live.ManagedFields = nil
				inCBOR, err = cbor.Marshal(live)
				require.NoError(t, err)
				assert.ErrorContains(t, put("pods/p02", append([]byte("\xd9\xd9\xf7"), inCBOR...)), "its body has no managedFields")
				ended := stored("p02")
				stop()
				store := informer.GetStore()
				if engine == "" {
					informer = nil // the store is enough
				}
				runtime.GC()
				runtime.GC()
				assert.ErrorContains(t, writes[""](ctx, client, ended), "is refused", "the informer has ended")
				runtime.KeepAlive(store)
				runtime.KeepAlive(informer)
			})
		}
	}
}

// wholeIn returns the name of a whole object.
func wholeIn(informer cache.SharedIndexInformer) string {
	for _, obj := range informer.GetStore().List() {
		if p := obj.(*v1.Pod); p.Labels["mine"] != "" {
			return p.Name
		}
	}
	return ""
}

// TestGuardLifted: PartialWrites allows all updates.
func TestGuardLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _, client, stop := guarded(t, kruntime.ContentTypeJSON, kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{}, PartialWrites: true}})
		defer stop()
		p := keptPod("p02", "10", false)
		p.ManagedFields = nil
		assert.NoError(t, writes[""](t.Context(), client, p))
		assert.Len(t, server.updates, 1)
	})
}

// TestGuardBlind: the informer refuses to run with a client that removes managed fields, unless the guard is lifted.
func TestGuardBlind(t *testing.T) {
	asks := func(next http.RoundTripper) http.RoundTripper {
		return taptest.Trip(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Accept", r.Header.Get("Accept")+";drop=metadata.managedFields")
			return next.RoundTrip(r)
		})
	}
	for i, options := range []kinformer.Options{
		{}, {Requests: kinformer.Requests{Mode: kinformer.ListModeList}}, {Decoding: kinformer.Decoding{Off: true}}, {Engine: "client-go"},
	} {
		for _, lifted := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				server := newKeepServer(kruntime.ContentTypeJSON)
				config := &rest.Config{Host: fmt.Sprintf("http://host%d", hosts.Add(1)), Transport: server, QPS: -1}
				for _, w := range []func(http.RoundTripper) http.RoundTripper{direct.Transport, asks} {
					config.Wrap(w)
				}
				client, err := kubernetes.NewForConfig(config)
				require.NoError(t, err)
				informer := kinformer.New(direct.NewListWatch(client.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil), &v1.Pod{}, func() kinformer.Options {
					options.Decoding.Keep, options.Decoding.PartialWrites = []string{}, lifted
					return options
				}())
				var failed atomic.Value
				require.NoError(t, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed.Store(err) }))
				stop := informers.Run(t, informer)
				time.Sleep(10 * time.Second)
				assert.Equal(t, lifted, informer.HasSynced(), i)
				stop()
				if !lifted {
					assert.ErrorContains(t, failed.Load().(error), "leave out rest.Config.DropManagedFields, or set Decoding.PartialWrites", i)
				}
			})
		}
	}
}

// TestGuardOfSources: the objects of each source are guarded, on the server of the source.
func TestGuardOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, set := sources.New(&v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{"spec.nodeName"}}})
		clients := map[string]*kubernetes.Clientset{}
		for _, host := range []string{"one", "two", "other"} {
			server := newKeepServer(kruntime.ContentTypeJSON)
			for _, p := range server.pods {
				p.Namespace = host
			}
			server.events = nil
			config := &rest.Config{Host: "http://" + host, Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: kruntime.ContentTypeJSON}}
			config.Wrap(direct.Transport)
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			if clients[host] = client; host != "other" {
				set.Put(host, direct.NewListWatch(client.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil))
			}
		}
		stop := informers.Run(t, informer)
		defer stop()
		time.Sleep(10 * time.Second)
		for host, client := range clients {
			p := keptPod("p02", "10", false)
			p.Namespace, p.ManagedFields = host, nil
			err := writes[""](t.Context(), client, p)
			if host == "other" {
				assert.NoError(t, err, "no informer has its objects")
			} else {
				assert.ErrorContains(t, err, "is refused", host)
			}
		}
		status := informers.Status(t, informer)
		assert.Equal(t, []string{"spec.nodeName"}, status.Decoding.Keep)
		status, err := inspect.StatusOf(set.Source("one"))
		require.NoError(t, err)
		assert.Equal(t, []string{"spec.nodeName"}, status.Decoding.Keep, "of a source")
	})
}

// TestGuardOfOthers: any group and version of a resource is guarded; informers of metadata are not.
func TestGuardOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fmt.Sprintf("http://host%d", hosts.Add(1))
		wire := &taptest.Wire{Media: kruntime.ContentTypeJSON, Answer: func(r *http.Request) ([][]byte, bool) {
			switch {
			case r.Method == http.MethodPut:
				return [][]byte{[]byte(`{}`)}, false
			case r.URL.Query().Get("watch") != "":
				return nil, true
			case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
				return [][]byte{[]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"m"}}]}`)}, false
			}
			return [][]byte{[]byte(`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"d","namespace":"n"},"spec":{"replicas":3}}]}`)}, false
		}}
		config := &rest.Config{Host: host, Transport: wire, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: kruntime.ContentTypeJSON}}
		config.Wrap(direct.Transport)
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		options := kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Decoding: kinformer.Decoding{Keep: []string{}}}
		deployments := kinformer.New(direct.NewListWatch(client.AppsV1().RESTClient(), &appsv1.Deployment{}, "deployments", "", nil), &appsv1.Deployment{}, options)
		ofMetadata, err := metadata.NewForConfig(config)
		require.NoError(t, err)
		of := ofMetadata.Resource(v1.SchemeGroupVersion.WithResource("nodes"))
		nodes := kinformer.New(testkit.ListWatchOf(of), &metav1.PartialObjectMetadata{}, options)
		for _, informer := range []cache.SharedIndexInformer{deployments, nodes} {
			defer informers.Run(t, informer)()
		}
		time.Sleep(10 * time.Second)
		require.True(t, deployments.HasSynced() && nodes.HasSynced())
		for path, refused := range map[string]bool{
			"/apis/apps/v1/namespaces/n/deployments/d": true, "/apis/apps/v1beta1/namespaces/n/deployments/d": true, "/apis/extensions/v1beta1/namespaces/n/deployments/d": false,
			"/apis/apps/v1/namespaces/other/deployments/d": false, "/api/v1/nodes/m": false, "/apis/apps/v1/namespaces/n/deployments/d/scale": false,
		} {
			name := path[strings.LastIndex(strings.TrimSuffix(path, "/scale"), "/")+1:]
			err := client.CoreV1().RESTClient().Put().AbsPath(path).Body(fmt.Appendf(nil, `{"metadata":{"name":%q}}`, strings.TrimSuffix(name, "/scale"))).Do(t.Context()).Error()
			assert.Equal(t, refused, err != nil, "%s: %v", path, err)
		}
	})
}

// TestUnguarded: what an informer requests is not known if its ListerWatcher passes no context on, and a problem says so.
func TestUnguarded(t *testing.T) {
	for _, lifted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client := informers.ClientOver(t, newKeepServer(kruntime.ContentTypeJSON), kruntime.ContentTypeJSON, true)
			lw := &cache.ListWatch{
				ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (kruntime.Object, error) {
					return client.ListWithContext(context.Background(), o)
				},
				WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					if o.SendInitialEvents != nil {
						return nil, apierrors.NewBadRequest("no watch-lists")
					}
					apart, cancel := context.WithCancel(context.Background())
					context.AfterFunc(ctx, cancel)
					return client.WatchWithContext(apart, o)
				},
			}
			informer := kinformer.New(lw, &v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{}, PartialWrites: lifted}})
			stop := informers.Run(t, informer)
			time.Sleep(10 * time.Second)
			status := informers.Status(t, informer)
			stop()
			require.True(t, status.Synced)
			assert.Equal(t, !lifted, slices.Contains(informers.Causes(status), "unguarded"), "%v", status.Problems)
		})
	}
}

// undecodableServer has a pod that can be decoded, and sends in each watch some versions of that, and then one of a pod that
// the client cannot decode, because of a field of its spec. Lists have it as their first and last item, if listed is set.
func undecodableServer(media string, good int, listed bool) (wire *taptest.Wire, lists *atomic.Int32) {
	wire, lists = &taptest.Wire{Media: media}, new(atomic.Int32)
	var version atomic.Int32
	wire.Answer = func(r *http.Request) (pieces [][]byte, hangs bool) {
		if r.URL.Query().Get("watch") == "" {
			lists.Add(1)
			about := metav1.ListMeta{ResourceVersion: fmt.Sprint(50 + version.Load())}
			items := [][]byte{taptest.Encoded(keptPod("a", "5", false), media)}
			if listed {
				items = [][]byte{taptest.Broken(keptPod("first", "5", false), media), items[0], taptest.Broken(keptPod("p", "5", false), media)}
			}
			return [][]byte{taptest.PodList(about, items, media)}, false
		}
		for range good {
			pieces = append(pieces, taptest.Frame(watch.Modified, keptPod("a", fmt.Sprint(50+version.Add(1)), false), media))
		}
		return append(pieces, taptest.RawFrame(watch.Added, taptest.Broken(keptPod("p", fmt.Sprint(50+version.Add(1)), false), media), media)), true
	}
	return wire, lists
}

// TestKeepUndecodable: with SkipUndecodable, an object whose kept fields cannot be decoded is skipped, and one whose other fields
// cannot be is not, also if the client would decode it for comparison.
func TestKeepUndecodable(t *testing.T) {
	for _, media := range []string{kruntime.ContentTypeJSON, kruntime.ContentTypeProtobuf} {
		for name, c := range map[string]struct {
			keep  []string
			skips bool
			good  int
		}{
			"all": {nil, true, 3}, "the field": {[]string{"spec"}, true, 3}, "another": {[]string{"status.phase"}, true, 3},
			"listed": {[]string{"status.phase"}, false, 3}, "listed, with the option": {[]string{"status.phase"}, true, 3}, "listed, the field": {[]string{"spec"}, true, 3},
			"all, first": {nil, true, 0}, "the field, first": {[]string{"spec"}, true, 0}, "another, without the option": {[]string{"status.phase"}, false, 3},
		} {
			synctest.Test(t, func(t *testing.T) {
				wire, lists := undecodableServer(media, c.good, strings.HasPrefix(name, "listed"))
				informer := kinformer.New(informers.ClientOver(t, wire, media, true), &v1.Pod{}, kinformer.Options{
					Requests: kinformer.Requests{Mode: kinformer.ListModeList}, Errors: kinformer.Errors{SkipUndecodable: c.skips},
					Decoding: kinformer.Decoding{Keep: c.keep, Verify: 1},
				})
				stop := informers.Run(t, informer)
				time.Sleep(time.Minute)
				status := informers.Status(t, informer)
				stop()
				assert.EqualValues(t, 1, lists.Load(), "%s %s: %v", media, name, status.LastError)
				_, exists, _ := informer.GetStore().GetByKey("space/p")
				taken := len(c.keep) == 1 && c.keep[0] == "status.phase"
				assert.Equal(t, taken, exists, "%s %s", media, name)
				assert.Equal(t, !taken, status.Undecodable > 0, "%s %s", media, name)
			})
		}
	}
}

// TestKeptIsTheInformers: a change of the slice of the options, and options with an odd path, change no informer.
func TestKeptIsTheInformers(t *testing.T) {
	kinformer.New(informers.Quiet(), &v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{Keep: []string{"spec.nodeName\nstatus.phase"}}})
	synctest.Test(t, func(t *testing.T) {
		keep := []string{"status.phase", "spec.nodeName"}
		informer := kinformer.New(informers.Quiet(keptPod("a", "5", false)), &v1.Pod{}, kinformer.Options{Decoding: kinformer.Decoding{Keep: keep}})
		keep[0] = "spec"
		stop := informers.Run(t, informer)
		synctest.Wait()
		got := informer.GetStore().List()[0].(*v1.Pod)
		stop()
		assert.Equal(t, v1.PodRunning, got.Status.Phase)
		assert.Equal(t, "node", got.Spec.NodeName)
		assert.Empty(t, got.Spec.ServiceAccountName)
		assert.Equal(t, []string{"status.phase", "spec.nodeName"}, informers.Status(t, informer).Decoding.Keep)
	})
	none := kinformer.Options{For: map[kruntime.Object]kinformer.Options{(*unstructured.Unstructured)(nil): {}}}
	status, err := inspect.StatusOf(kinformer.New(informers.Quiet(), &unstructured.Unstructured{}, none))
	require.NoError(t, err)
	assert.ErrorContains(t, status.LastError, "a nil example")
}
