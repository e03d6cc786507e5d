// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

var servicesResource = corev1.SchemeGroupVersion.WithResource("services")

func node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// requestsFor returns the namespaces of the lists of a resource, with "" for all.
func requestsFor(client *clienttesting.Fake, resource string) (namespaces []string) {
	for _, action := range client.Actions() {
		if action.GetVerb() == "list" && action.GetResource().Resource == resource {
			namespaces = append(namespaces, action.GetNamespace())
		}
	}
	return namespaces
}

// nodesOf lists and watches the nodes of a client, as a generated client does: in all namespaces alike.
func nodesOf(client kubernetes.Interface) cache.ListerWatcher {
	return clientgo.ToListWatcherWithWatchListSemantics(testkit.ListWatchOf(client.CoreV1().Nodes()), client)
}

// TestObjectsWithoutANamespace: an informer of objects without a namespace follows all of them by one
// request, without and with namespaces, and no wait for a namespace is about it.
func TestObjectsWithoutANamespace(t *testing.T) {
	type made struct {
		informer cache.SharedIndexInformer
		client   *clienttesting.Fake
	}
	typed := func(informerOf func(kubernetes.Interface) cache.SharedIndexInformer) made {
		client := fake.NewClientset(node("n"))
		return made{informerOf(client), &client.Fake}
	}
	wrapped := func(option factory.Option) made {
		return typed(func(client kubernetes.Interface) cache.SharedIndexInformer {
			return factory.Wrap(informers.NewSharedInformerFactory(client, 0), option).Core().V1().Nodes().Informer()
		})
	}
	constructed := func(n *factory.Namespaces, construct factory.Constructor) made {
		return typed(func(client kubernetes.Interface) cache.SharedIndexInformer {
			return n.Constructor(construct, listedBy(client))(nodesOf(client), &corev1.Node{}, 0, cache.Indexers{})
		})
	}
	dynamicNodes := func(option factory.Option) made {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, node("n"))
		return made{factory.Dynamic(client, 0, option).ForResource(nodesResource).Informer(), &client.Fake}
	}
	for name, informerOf := range map[string]func(*factory.Namespaces) made{
		"typed":                func(n *factory.Namespaces) made { return wrapped(factory.WithNamespaces(n)) },
		"typed, a namespace":   func(*factory.Namespaces) made { return wrapped(factory.WithNamespace("a")) },
		"dynamic":              func(n *factory.Namespaces) made { return dynamicNodes(factory.WithNamespaces(n)) },
		"dynamic, a namespace": func(*factory.Namespaces) made { return dynamicNodes(factory.WithNamespace("a")) },
		"metadata": func(n *factory.Namespaces) made {
			object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: node("n").ObjectMeta}
			client := metadatafake.NewSimpleMetadataClient(metadataScheme(t), object)
			return made{factory.Metadata(client, 0, factory.WithNamespaces(n)).ForResource(nodesResource).Informer(), &client.Fake}
		},
		"Take": func(n *factory.Namespaces) made {
			return typed(func(client kubernetes.Interface) cache.SharedIndexInformer {
				return factory.Take(informers.NewSharedInformerFactory(client, 0).InformerFor, &corev1.Node{},
					func(c kubernetes.Interface, _ string) typedcorev1.NodeInterface { return c.CoreV1().Nodes() }, factory.WithNamespaces(n))
			})
		},
		"constructor": func(n *factory.Namespaces) made { return constructed(n, cache.NewSharedIndexInformer) },
		"constructor of client-go": func(n *factory.Namespaces) made {
			return constructed(n, clientgo.NewSharedIndexInformer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var namespaces factory.Namespaces
				nodes := informerOf(&namespaces)
				t.Cleanup(testkit.InBackground(t, nodes.informer.RunWithContext))
				synctest.Wait()
				assert.Equal(t, []string{"n"}, keysOf(nodes.informer))
				namespaces.Add("a")
				namespaces.Add("b")
				require.NoError(t, namespaces.WaitForSync(t.Context(), "b"))
				namespaces.Remove("a")
				assert.Equal(t, []string{"n"}, keysOf(nodes.informer))
				assert.LessOrEqual(t, len(requestsFor(nodes.client, "nodes")), 1, "none if streamed")
				for _, action := range nodes.client.Actions() {
					assert.Empty(t, action.GetNamespace())
				}
				if status, err := inspect.StatusOf(nodes.informer); err == nil {
					assert.Empty(t, status.Namespace)
				}
			})
		})
	}
}

// TestConstructorOfUnknownKinds: Constructor knows the scope of an example without a Go type by its
// kind. Of other kinds listWatch decides by its result for all namespaces.
func TestConstructorOfUnknownKinds(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	of := func(example runtime.Object, kind schema.GroupVersionKind) runtime.Object {
		example.GetObjectKind().SetGroupVersionKind(kind)
		return example
	}
	listed := listedBy(twoNamespaces())(nil, "")
	for name, c := range map[string]struct {
		example runtime.Object
		listed  cache.ListerWatcher
		sources bool
	}{
		"nodes":                    {of(&unstructured.Unstructured{}, corev1.SchemeGroupVersion.WithKind("Node")), listed, false},
		"metadata of roles":        {of(&metav1.PartialObjectMetadata{}, rbacv1.SchemeGroupVersion.WithKind("Role")), listed, true},
		"metadata of clusterroles": {of(&metav1.PartialObjectMetadata{}, rbacv1.SchemeGroupVersion.WithKind("ClusterRole")), listed, false},
		"another version of it":    {of(&metav1.PartialObjectMetadata{}, schema.GroupVersionKind{Group: rbacv1.GroupName, Version: "v9", Kind: "ClusterRole"}), listed, false},
		"pods":                     {&corev1.Pod{}, listed, true},
		"an unknown kind":          {of(&unstructured.Unstructured{}, widget), listed, true},
		"an unknown kind, nil":     {of(&unstructured.Unstructured{}, widget), nil, false},
		"a nil of a type":          {&corev1.Pod{}, (*cache.ListWatch)(nil), false},
		"no kind":                  {&unstructured.Unstructured{}, listed, true},
		"no example":               {nil, listed, true},
	} {
		var namespaces factory.Namespaces
		construct := namespaces.Constructor(cache.NewSharedIndexInformer, func(runtime.Object, string) cache.ListerWatcher { return c.listed })
		_, ok := sources.Of(construct(listed, c.example, 0, cache.Indexers{}))
		assert.Equal(t, c.sources, ok, name)
	}
}

// TestConstructorWithoutAListerWatcher: an informer for which listWatch has none has the objects of the
// framework's. A single namespace for which it has none never syncs, and the error says so.
func TestConstructorWithoutAListerWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var namespaces factory.Namespaces
		namespaces.Add("ns")
		listed := listedBy(twoNamespaces())
		construct := func(without string) cache.SharedIndexInformer {
			informer := namespaces.Constructor(cache.NewSharedIndexInformer, func(example runtime.Object, namespace string) cache.ListerWatcher {
				if namespace == without {
					return nil
				}
				return listed(example, namespace)
			})(listed(nil, ""), &corev1.Pod{}, 0, cache.Indexers{})
			t.Cleanup(testkit.InBackground(t, informer.RunWithContext))
			require.NoError(t, kinformer.WaitForSync(t.Context(), informer))
			return informer
		}
		assert.Equal(t, []string{"ns/a", "ns/b", "other/a"}, keysOf(construct("")))
		followed := construct("other")
		assert.Equal(t, []string{"ns/a", "ns/b"}, keysOf(followed))
		namespaces.Add("other")
		require.ErrorContains(t, namespaces.WaitForSync(t.Context(), "other"), "the ListerWatcher of the source is nil")
		assert.Equal(t, []string{"ns/a", "ns/b"}, keysOf(followed))
	})
}

// TestScopesAreThoseOfClientGo: for each resource, an informer of Namespaces has sources exactly if
// client-go's accessor has a namespace.
func TestScopesAreThoseOfClientGo(t *testing.T) {
	scopes := map[string]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if informer := v.MethodByName("Informer"); informer.IsValid() {
			_, has := v.Elem().Elem().Type().FieldByName("namespace")
			obj := informer.Call(nil)[0].Interface().(cache.SharedIndexInformer)
			all, err := inspect.Of(obj)
			require.NoError(t, err)
			_, follows := sources.Of(obj)
			assert.Equal(t, has, follows, all.Name)
			scopes[all.Name] = follows
			return
		}
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			if m.Type.NumOut() == 1 && strings.HasPrefix(m.Type.Out(0).PkgPath(), "k8s.io/client-go/informers/") && v.Method(i).Type().NumIn() == 0 {
				walk(v.Method(i).Call(nil)[0])
			}
		}
	}
	f := factory.Wrap(informers.NewSharedInformerFactory(fake.NewClientset(), 0), factory.WithNamespaces(&factory.Namespaces{}))
	walk(reflect.ValueOf(&f).Elem())
	assert.Greater(t, len(scopes), 100)
	assert.Contains(t, scopes, "nodes.v1")
}
