// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine/taptest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// exactly lists at version 5 from a server, and returns the names that take got.
func exactly(t *testing.T, answer func(n int, o metav1.ListOptions) (runtime.Object, error), refuse error) (names []string, foreign int, err error) {
	server := &testkit.Server{OnList: func(n int, _ context.Context, o metav1.ListOptions) (runtime.Object, error) { return answer(n, o) }}
	exact := New(reflector.Options{ListerWatcher: server, ExpectedType: &v1.Pod{}, Namespace: "ns"})
	foreign, err = exact.List(t.Context(), "5", func(item runtime.Object) error {
		names = append(names, item.(*v1.Pod).Name)
		return refuse
	})
	return names, foreign, err
}

// TestExact: the pages of one version are taken in order, without dropped fields. A page whose direct
// decoding is in doubt is requested again.
func TestExact(t *testing.T) {
	names, foreign, err := exactly(t, func(n int, o metav1.ListOptions) (runtime.Object, error) {
		want := metav1.ListOptions{Limit: 500, ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		page := testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodIn("other", "x", "1"))
		page.Continue = "more"
		if n == 3 {
			want = metav1.ListOptions{Limit: 500, Continue: "more"}
			page = testkit.PodList("5", testkit.PodAt("b", "2"))
		}
		assert.Equal(t, want, o)
		if n == 1 {
			return nil, &tap.Doubt{}
		}
		return page, nil
	}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, names)
	assert.Equal(t, 1, foreign)
}

// TestExactIdentities: identities are listed by the reflector's lister, or by another one with
// objects of any type.
func TestExactIdentities(t *testing.T) {
	server := &testkit.Server{OnList: testkit.ListOf(testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodIn("other", "x", "1")))}
	lists := clientgo.ToListerWatcherWithContext(server)
	for _, c := range []struct {
		expected runtime.Object
		from     clientgo.ListerWithContext
		names    string
		foreign  int
	}{{&v1.Pod{}, nil, "a", 1}, {&v1.Node{}, nil, "", 2}, {&v1.Node{}, lists, "a", 1}} {
		names := ""
		exact := New(reflector.Options{ListerWatcher: server, ExpectedType: c.expected, Namespace: "ns"})
		foreign, err := exact.ListIdentities(t.Context(), c.from, "5", func(item runtime.Object) error {
			names += item.(*v1.Pod).Name
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, c.foreign, foreign)
		assert.Equal(t, c.names, names)
	}
}

// TestExactErrors: errors show their cause, and an error of take ends the list.
func TestExactErrors(t *testing.T) {
	stop, inexact := errors.New("stop"), (*Inexact)(nil)
	full := func(int, metav1.ListOptions) (runtime.Object, error) {
		return testkit.PodList("5", testkit.PodAt("a", "1"), testkit.PodAt("b", "1")), nil
	}
	names, _, err := exactly(t, full, stop)
	assert.Equal(t, stop, err)
	assert.Len(t, names, 1)
	for name, tc := range map[string]struct {
		answer  runtime.Object
		err     error
		inexact bool
	}{
		"another version": {testkit.PodList("6"), nil, true},
		"bad request":     {nil, apierrors.NewBadRequest("no"), true},
		"forbidden":       {nil, apierrors.NewForbidden(v1.Resource("pods"), "", nil), false},
		"nothing":         {nil, nil, false},
		"no list":         {&v1.Pod{}, nil, false},
	} {
		_, _, err := exactly(t, func(int, metav1.ListOptions) (runtime.Object, error) { return tc.answer, tc.err }, nil)
		assert.Error(t, err, name)
		assert.Equal(t, tc.inexact, errors.As(err, &inexact), name)
	}
}

// TestExactEnds: a server that repeats the continue token of the request leads to an error.
func TestExactEnds(t *testing.T) {
	names, _, err := exactly(t, func(n int, o metav1.ListOptions) (runtime.Object, error) {
		page := testkit.PodList("5", testkit.PodAt(fmt.Sprint("p", n), "1"))
		page.Continue = "the same"
		if n > 10 {
			page.Continue = ""
		}
		return page, nil
	}, nil)
	assert.ErrorIs(t, err, errEndless)
	assert.Equal(t, []string{"p1", "p2"}, names)
}

// TestExactDropped: a server that does not accept that it should leave out managed fields is asked again without
// that, whatever is listed.
func TestExactDropped(t *testing.T) {
	page := testkit.PodList("5", testkit.PodAt("a", "1"))
	wire := &taptest.Wire{Media: runtime.ContentTypeJSON, Answer: func(*http.Request) ([][]byte, bool) {
		return [][]byte{taptest.Encoded(page, runtime.ContentTypeJSON)}, false
	}}
	refused := 0
	server := informers.ClientOver(t, strict{wire, &refused}, runtime.ContentTypeJSON, true)
	exact := New(reflector.Options{ListerWatcher: server, ExpectedType: &v1.Pod{}, Decoding: tap.Options{Drop: tap.NewDrop(true)}})
	for _, list := range []func(take func(runtime.Object) error) (int, error){
		func(take func(runtime.Object) error) (int, error) { return exact.List(t.Context(), "5", take) },
		func(take func(runtime.Object) error) (int, error) {
			return exact.ListIdentities(t.Context(), nil, "5", take)
		},
		func(take func(runtime.Object) error) (int, error) {
			return exact.ListIdentities(t.Context(), server, "5", take)
		},
	} {
		took := 0
		refused = 0
		_, err := list(func(runtime.Object) error { took++; return nil })
		assert.NoError(t, err)
		assert.Equal(t, 1, took)
		assert.Equal(t, 1, refused)
	}
}

// strict is a server that accepts no parameter that it does not know, and counts the refused requests.
type strict struct {
	http.RoundTripper
	refused *int
}

func (s strict) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if strings.Contains(r.Header.Get("Accept"), "drop=") {
		resp.StatusCode = http.StatusNotAcceptable
		*s.refused++
	}
	return resp, err
}
