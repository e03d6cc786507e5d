// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

func untyped(apiVersion, kind, name, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	obj.SetResourceVersion(version)
	return obj
}

func untypedList(version string, items ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(version)
	for _, item := range items {
		list.Items = append(list.Items, *item)
	}
	return list
}

// listOfAny returns a list of the given objects.
func listOfAny(version string, items ...runtime.Object) *metav1.List {
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, item := range items {
		list.Items = append(list.Items, runtime.RawExtension{Object: item})
	}
	return list
}

// TestAListWithForeignItems: a list item that is not among the expected objects is reported without
// its content, counted, and left out; the others are taken. A list of such items only is refused.
func TestAListWithForeignItems(t *testing.T) {
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hush", ResourceVersion: "4"}}
	kind := untyped("g/v1", "Kind", "", "")
	tables := untypedList("5", untyped("g/v1", "Table", "a", "1"), untyped("g/v1", "Status", "b", "2"))
	for name, tc := range map[string]struct {
		expected  any
		namespace string
		list      runtime.Object
		stored    string // "" if the list is refused
		says      string // "" if no item is left out
	}{
		"another Go type":      {&v1.Pod{}, "", listOfAny("5", testkit.PodAt("a", "1"), service, testkit.PodAt("b", "2")), "replace 5: a@1 b@2", "*v1.Service"},
		"untyped for typed":    {&v1.Pod{}, "", untypedList("5", untyped("v1", "Pod", "hush", "1")), "", "*unstructured.Unstructured"},
		"raw":                  {&v1.Pod{}, "", &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{{Raw: []byte(`{"hush":1}`)}}}, "", "*runtime.Unknown"},
		"another kind":         {kind, "", untypedList("5", untyped("g/v1", "Kind", "a", "1"), untyped("v1", "Secret", "hush", "2")), "replace 5: a@1", "Secret"},
		"another version":      {kind, "", untypedList("5", untyped("g/v2", "Kind", "hush", "1")), "", "g/v2"},
		"a status":             {&unstructured.Unstructured{}, "", untypedList("5", untyped("v1", "Status", "hush", "1"), untyped("g/v1", "Kind", "a", "1")), "replace 5: a@1", "Status"},
		"another namespace":    {&v1.Pod{}, "ns", testkit.PodList("5", testkit.PodIn("ns", "a", "1"), testkit.PodIn("other", "hush", "2")), "replace 5: a@1", `"other"`},
		"without a namespace":  {&v1.Node{}, "ns", &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}}}, "replace 5: a@1", ""},
		"any namespace":        {&v1.Pod{}, "", testkit.PodList("5", testkit.PodIn("ns", "a", "1"), testkit.PodIn("other", "b", "2")), "replace 5: a@1 b@2", ""},
		"without a kind":       {kind, "", untypedList("5", untyped("", "", "a", "1")), "replace 5: a@1", ""},
		"any kind":             {&unstructured.Unstructured{}, "", untypedList("5", untyped("g/v1", "Kind", "a", "1"), untyped("v1", "Secret", "b", "2")), "replace 5: a@1 b@2", ""},
		"other tables":         {nil, "", tables, "replace 5: a@1 b@2", ""},
		"any object":           {nil, "", listOfAny("5", testkit.PodAt("a", "1"), service), "replace 5: a@1 hush@4", ""},
		"metadata of any kind": {&metav1.PartialObjectMetadata{}, "", &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}}}, "replace 5: a@1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reported, report := testkit.Reports(t), NewJournal()
			got := watchedFor(t, func(c *Options) {
				c.ExpectedType, c.Namespace, c.Journal = tc.expected, tc.namespace, report
				c.ListerWatcher.(*testkit.Server).OnList = testkit.ListOf(tc.list)
			})
			if tc.stored == "" {
				assert.Empty(t, got.stored, "an empty state would be wrong")
				require.NotEmpty(t, got.handled)
				assert.ErrorContains(t, got.handled[0], "none of 1 list items is one of the expected objects")
				return
			}
			assert.Equal(t, []string{tc.stored}, got.stored)
			if tc.says == "" {
				assert.Empty(t, reported())
				assert.Zero(t, report.Status().Left)
				return
			}
			require.Len(t, reported(), 1)
			assert.Contains(t, reported()[0], tc.says)
			assert.NotContains(t, reported()[0], "hush")
			assert.EqualValues(t, 1, report.Status().Left)
			assert.EqualValues(t, 1, report.Status().LeftNow)
			assert.Contains(t, report.Status().LeftWhy, tc.says)
		})
	}
}

// TestKindOfEmptyLists: an empty list of another kind than the list before does not empty the store, unless the server has
// said that it does not serve the resource, which may be defined anew.
func TestKindOfEmptyLists(t *testing.T) {
	notServed, unavailable := apierrors.NewNotFound(schema.GroupResource{}, ""), apierrors.NewServiceUnavailable("")
	expired := apierrors.NewResourceExpired("too old")
	for name, tc := range map[string]struct {
		watch, between error
		stored         []string
	}{
		"not served":           {expired, notServed, []string{"replace 5: a@1", "replace 9:"}},
		"not served to watch":  {notServed, unavailable, []string{"replace 5: a@1", "replace 9:"}},
		"unavailable":          {expired, unavailable, []string{"replace 5: a@1"}},
		"unavailable to watch": {unavailable, unavailable, []string{"replace 5: a@1"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Reports(t)
			widgets, anew := untypedList("5", untyped("g/v1", "Widget", "a", "1")), untypedList("9")
			widgets.SetKind("WidgetList")
			anew.SetKind("Widgets")
			got := watchedFor(t, func(c *Options) {
				c.ExpectedType = untyped("g/v1", "Widget", "", "")
				c.ListerWatcher.(*testkit.Server).OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
					switch n {
					case 1:
						return widgets, nil
					case 2:
						return nil, tc.between
					}
					return anew, nil
				}
			}, tc.watch)
			assert.Equal(t, tc.stored, got.stored)
		})
	}
}

// TestListsWithoutVersions: a ListerWatcher whose lists never have a version may return an empty one, even if events had
// versions.
func TestListsWithoutVersions(t *testing.T) {
	got := watchedFor(t, func(c *Options) {
		c.ListerWatcher.(*testkit.Server).OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n == 1 {
				return testkit.PodList("", testkit.PodAt("a", "1")), nil
			}
			return testkit.PodList(""), nil
		}
	}, testkit.Sent(testkit.Modified("a", "2"), testkit.FailedWith(apierrors.NewResourceExpired("too old"))))
	assert.Equal(t, []string{"replace : a@1", "update a@2", "replace :"}, got.stored)
}

// versionLog notes the versions that it is told.
type versionLog struct {
	testkit.StoreLog
	told []string
}

func (l *versionLog) UpdateResourceVersion(version string) { l.told = append(l.told, version) }

// TestVersionlessEvents: a store is not told of the version of an event that has none, which changes no position.
func TestVersionlessEvents(t *testing.T) {
	store := &versionLog{}
	watchedFor(t, func(c *Options) { c.Sink = Foreign(store) }, testkit.Sent(testkit.Modified("a", "7"), testkit.Modified("a", "")))
	assert.Equal(t, []string{"7"}, store.told)
}

// TestEventsOfAnotherNamespace: watches and watch-lists leave out objects of other namespaces.
// Bookmarks have no namespace.
func TestEventsOfAnotherNamespace(t *testing.T) {
	in := func(e watch.Event, namespace string) watch.Event {
		e.Object.(*v1.Pod).Namespace = namespace
		return e
	}
	expect := func(c *Options) { c.Namespace = "ns" }
	reported := testkit.Reports(t)
	got := watchedFor(t, expect, testkit.Sent(testkit.Modified("a", "6"), in(testkit.Added("b", "7"), "other"), in(testkit.Deleted("a", "8"), "other"), in(testkit.Bookmark("9"), "")))
	assert.Equal(t, []string{"replace 5: a@1", "update a@6"}, got.stored)
	assert.Equal(t, "9", got.version)
	_, stored := streamed(t, expect, testkit.Sent(testkit.Added("a", "6"), in(testkit.Added("b", "7"), "other"), in(testkit.EndMark("8"), "")))
	assert.Equal(t, []string{"replace 8: a@6"}, stored)
	assert.Len(t, reported(), 3)
	asked, stored := streamed(t, expect, testkit.Sent(in(testkit.Added("b", "7"), "other"), in(testkit.EndMark("8"), "")))
	assert.Equal(t, []string{"stream rv=", "list rv=0 limit=500", "watch rv=50"}, asked, "nothing but foreign objects is no state")
	assert.Equal(t, []string{"replace 50: listed@50"}, stored)
}

// stagings notes whether the stored objects are trusted.
type stagings struct {
	Sink
	all []bool
}

func (s *stagings) Stage(o event.Staging) Stage {
	s.all = append(s.all, o.Distrust)
	return s.Sink.Stage(o)
}

// TestDoubtAfterRefusal: a doubt in the list that follows a refused version is one, too: the objects are listed once more, and
// those in the store are not trusted.
func TestDoubtAfterRefusal(t *testing.T) {
	for name, answers := range map[string][]any{
		"doubt":             {"5", &tap.Doubt{Why: "w"}, "9", "9"},
		"refused and doubt": {"5", testkit.ErrExpired, &tap.Doubt{Why: "w"}, "9", "9"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) {
				if version, ok := answers[n-1].(string); ok {
					return testkit.PodList(version), nil
				}
				return nil, answers[n-1].(error)
			}}
			server.NoStream = true
			server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, testkit.ErrForbidden
			}
			s := &stagings{Sink: Foreign(&testkit.StoreLog{})}
			r := New(Options{Name: "r", ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: s})
			_ = r.ListAndWatch(t.Context())
			err := r.ListAndWatch(t.Context())
			assert.ErrorIs(t, err, testkit.ErrForbidden)
			for len(s.all) < 2 {
				_ = r.ListAndWatch(t.Context())
			}
			assert.True(t, s.all[1], "the stored objects are not trusted")
		})
	}
}
