// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

// listOnly returns a reflector whose rounds end right after the list, because the watch cannot be
// opened.
func listOnly(server *testkit.Server, store clientgo.ReflectorStore) *Reflector {
	server.NoStream = true
	server.OnWatch = func(int, context.Context, metav1.ListOptions) (watch.Interface, error) {
		return nil, testkit.ErrForbidden
	}
	return New(Options{Name: "r", ListerWatcher: server, ExpectedType: &v1.Pod{}, Sink: Foreign(store)})
}

// TestListVersions: the version of each list in a sequence of rounds, for cases without a scenario.
func TestListVersions(t *testing.T) {
	olderTooLarge := apierrors.NewTimeoutError("not yet", 1)
	olderTooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: tooLargeVersion}}
	oldestTooLarge := apierrors.NewTimeoutError(tooLargeVersion, 1)
	//lint:ignore SA1019 older servers answer so
	gone := apierrors.NewGone("gone")
	timeout := apierrors.NewTimeoutError("slow", 1)

	for name, tc := range map[string]struct {
		answers []any // a version or an error for each list
		rounds  int
		want    []string
	}{
		"gone":                       {[]any{"5", gone, "9"}, 2, []string{"0", "5", ""}},
		"too large, Kubernetes 1.17": {[]any{"5", olderTooLarge, "9"}, 2, []string{"0", "5", ""}},
		"too large, before 1.17":     {[]any{"5", oldestTooLarge, "9"}, 2, []string{"0", "5", ""}},
		"refused twice in a round":   {[]any{"5", testkit.ErrExpired, testkit.ErrExpired, "9"}, 3, []string{"0", "5", "", ""}},
		"another timeout":            {[]any{"5", timeout, "6"}, 3, []string{"0", "5", "5"}},
		"any other error":            {[]any{testkit.ErrForbidden, "5", testkit.ErrForbidden, "6"}, 4, []string{"0", "0", "5", "5"}},
		"empty version":              {[]any{"", "5"}, 2, []string{"0", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
				got = append(got, o.ResourceVersion)
				if version, ok := tc.answers[n-1].(string); ok {
					return testkit.PodList(version), nil
				}
				return nil, tc.answers[n-1].(error)
			}}
			r := listOnly(server, &testkit.StoreLog{})
			for range tc.rounds {
				require.Error(t, r.ListAndWatch(t.Context()))
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// TestNewestUntilStored: the most recent state is requested until a state is in the store, not only until a
// server has answered.
func TestNewestUntilStored(t *testing.T) {
	var got []string
	server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
		if got = append(got, o.ResourceVersion); n == 2 {
			return nil, testkit.ErrExpired
		}
		return testkit.PodList(fmt.Sprint(n)), nil
	}}
	r := listOnly(server, &testkit.StoreLog{Fail: func(entry string) error {
		if entry == "replace 3:" {
			return errors.New("not stored")
		}
		return nil
	}})
	for range 4 {
		require.Error(t, r.ListAndWatch(t.Context()))
	}
	assert.Equal(t, []string{"0", "1", "", "", "4"}, got)
}

// TestListPages: the limits of lists. Only pages at version "0" show that the server has no watch
// cache.
func TestListPages(t *testing.T) {
	for name, tc := range map[string]struct {
		pageSize int64
		paged    int // the number of the request whose list has two pages; the one before it fails
		want     []string
	}{
		"default": {0, 0, []string{"list rv=0 limit=500", "watch rv=5", "list rv=5 limit=0"}},
		"forced":  {4, 0, []string{"list rv=0 limit=4", "watch rv=5", "list rv=5 limit=4"}},
		"a server without watch cache": {0, 1,
			[]string{"list rv=0 limit=500", "list rv= limit=500 continue=next", "watch rv=5", "list rv=5 limit=500"}},
		"pages of the newest state": {0, 3, []string{"list rv=0 limit=500", "watch rv=5", "list rv=5 limit=0",
			"list rv= limit=0", "list rv= limit=0 continue=next", "watch rv=5", "list rv=5 limit=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
				page := testkit.PodList("5", testkit.PodAt(fmt.Sprintf("p%d", n), "1"))
				switch n {
				case tc.paged:
					page.Continue = "next"
				case tc.paged - 1:
					return nil, testkit.ErrExpired
				}
				return page, nil
			}}
			store := &testkit.StoreLog{}
			r := listOnly(server, store)
			r.state.reader.options.PageSize = tc.pageSize
			for range 3 {
				require.ErrorIs(t, r.ListAndWatch(t.Context()), testkit.ErrForbidden)
			}
			testkit.FirstCalls(t, tc.want, server.Requests())
			if tc.paged == 1 {
				testkit.FirstCalls(t, []string{"replace 5: p1@1 p2@1"}, store.Entries())
			}
		})
	}
}

// TestListWithoutEnd: if a page names itself as the next one and is repeated, the list fails and
// publishes nothing.
func TestListWithoutEnd(t *testing.T) {
	const pages = 20 // so that the test ends
	server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
		page := testkit.PodList("5", testkit.PodAt(fmt.Sprintf("p%d", min(n, 3)), "1"))
		if n < pages {
			page.Continue = fmt.Sprint(min(n, 3))
		}
		return page, nil
	}}
	store := &testkit.StoreLog{}
	err := listOnly(server, store).ListAndWatch(t.Context())
	assert.ErrorIs(t, err, errEndlessList)
	assert.ErrorContains(t, err, "failed to list *v1.Pod: a page has the continue token")
	assert.Len(t, server.Requests(), 4)
	assert.Empty(t, store.Entries())
}

// TestListResultsThatAreNone: an invalid list ends the round with an error that does not contain
// the objects.
func TestListResultsThatAreNone(t *testing.T) {
	secret := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1.PodSpec{Hostname: "hush"}}
	table := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "Table"}}
	for name, list := range map[string]apiruntime.Object{
		"nil":         nil,
		"nil pointer": (*v1.PodList)(nil),
		"no list":     secret,
		"table":       table,
	} {
		t.Run(name, func(t *testing.T) {
			store := &testkit.StoreLog{}
			server := &testkit.Server{OnList: testkit.ListOf(list)}
			err := listOnly(server, store).ListAndWatch(t.Context())
			require.Error(t, err)
			assert.NotErrorIs(t, err, testkit.ErrForbidden, "must not get as far as watching")
			assert.NotContains(t, err.Error(), "hush")
			assert.Contains(t, err.Error(), "*v1.Pod")
			assert.Empty(t, store.Entries())
		})
	}
}

// TestNoListIsNoEmptyList: what client-go's clients make of an answer that is no list, with status 200, is an
// error. The typed clients leave nothing to tell by but the lack of a version, so the first list may be one.
func TestNoListIsNoEmptyList(t *testing.T) {
	named := func(kind, name string) *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{Object: map[string]any{}}
		list.SetAPIVersion("v1")
		list.SetKind(kind)
		if name != "" {
			_ = unstructured.SetNestedField(list.Object, name, "metadata", "name")
			list.SetResourceVersion("7")
		}
		return list
	}
	withVersion := named("Widgets", "")
	withVersion.SetResourceVersion("7")
	for name, tc := range map[string]struct {
		answer       apiruntime.Object
		first, later bool // whether it is a list as the first answer, and as a later one
	}{
		"typed, nothing":             {&v1.PodList{}, true, false},
		"typed, empty":               {testkit.PodList("7"), true, true},
		"typed, with items":          {testkit.PodList("", testkit.PodAt("a", "")), true, true},
		"metadata, nothing":          {&metav1.PartialObjectMetadataList{}, true, false},
		"dynamic, nothing":           {named("PodList", ""), true, false},
		"dynamic, Status":            {named("Status", ""), false, false},
		"dynamic, error":             {named("x", ""), false, false},
		"dynamic, object":            {named("Pod", "a"), false, false},
		"dynamic, list of odd kind":  {withVersion, true, true},
		"dynamic, empty with a kind": {untypedList("7"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []bool{true, false} {
				store := &testkit.StoreLog{}
				server := &testkit.Server{OnList: func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
					if n == 1 && !first {
						return testkit.PodList("5"), nil
					}
					return tc.answer, nil
				}}
				r := listOnly(server, store)
				r.state.reader.expects.typ, r.state.reader.expects.usable = nil, false // any objects
				err := r.ListAndWatch(t.Context())
				if !first {
					before := len(store.Entries())
					err = r.ListAndWatch(t.Context())
					assert.Equal(t, tc.later, len(store.Entries()) > before)
					assert.Equal(t, tc.later, errors.Is(err, testkit.ErrForbidden), err)
					continue
				}
				assert.Equal(t, tc.first, len(store.Entries()) > 0)
				assert.Equal(t, tc.first, errors.Is(err, testkit.ErrForbidden), err)
			}
		})
	}
}

// nilItems is a list of pointers, as a hand-written ListerWatcher may return.
type nilItems struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*v1.Pod
}

func (l *nilItems) DeepCopyObject() apiruntime.Object { return l }

// TestListItemWithoutObject: a nil item is reported and left out, the others are stored.
func TestListItemWithoutObject(t *testing.T) {
	reported := testkit.Reports(t)
	server := &testkit.Server{OnList: testkit.ListOf(&nilItems{ListMeta: metav1.ListMeta{ResourceVersion: "3"}, Items: []*v1.Pod{testkit.PodAt("a", "1"), nil, testkit.PodAt("b", "2")}})}
	store := &testkit.StoreLog{}
	require.ErrorIs(t, listOnly(server, store).ListAndWatch(t.Context()), testkit.ErrForbidden)
	assert.Equal(t, []string{"replace 3: a@1 b@2"}, store.Entries())
	assert.Len(t, reported(), 1)
}

// kindless is a list that has no place for its kind.
type kindless struct{ nilItems }

func (l *kindless) GetObjectKind() schema.ObjectKind { return nil }

// TestListWithoutKind: a hand-written list need not have a place for its kind.
func TestListWithoutKind(t *testing.T) {
	server := &testkit.Server{OnList: testkit.ListOf(&kindless{nilItems{ListMeta: metav1.ListMeta{ResourceVersion: "3"}, Items: []*v1.Pod{testkit.PodAt("a", "1")}}})}
	store := &testkit.StoreLog{}
	require.ErrorIs(t, listOnly(server, store).ListAndWatch(t.Context()), testkit.ErrForbidden)
	assert.Equal(t, []string{"replace 3: a@1"}, store.Entries())
}

// TestListThatDoesNotReturn: a ListerWatcher that ends its goroutine, as t.FailNow does, causes an
// error and does not block the reflector.
func TestListThatDoesNotReturn(t *testing.T) {
	server := &testkit.Server{OnList: func(int, context.Context, metav1.ListOptions) (apiruntime.Object, error) {
		runtime.Goexit()
		return nil, nil
	}}
	assert.ErrorIs(t, listOnly(server, &testkit.StoreLog{}).ListAndWatch(t.Context()), errNoAnswer)
}

// TestOneTokenForAllPages: fake ListerWatchers that count their pages themselves may return the
// same token with each page.
func TestOneTokenForAllPages(t *testing.T) {
	const pages = 4
	server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
		page := testkit.PodList("5", testkit.PodAt(fmt.Sprintf("p%d", n), "1"))
		if n < pages {
			page.Continue = "more"
		}
		return page, nil
	}}
	store := &testkit.StoreLog{}
	require.ErrorIs(t, listOnly(server, store).ListAndWatch(t.Context()), testkit.ErrForbidden)
	testkit.FirstCalls(t, []string{"replace 5: p1@1 p2@1 p3@1 p4@1"}, store.Entries())
}
