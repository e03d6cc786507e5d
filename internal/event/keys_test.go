// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/draw"
)

// TestRecentKeysAreFoundAgain checks that recentKeys returns the same string each time, and stays
// within its bound.
func TestRecentKeysAreFoundAgain(t *testing.T) {
	var recent recentKeys
	first := recent.key("ns", "a")
	assert.Equal(t, unsafe.StringData(first), unsafe.StringData(recent.key("ns", "a")))
	for i := range 3 * maxRecentKeys {
		assert.Equal(t, fmt.Sprint("ns/", i), recent.key("ns", fmt.Sprint(i)))
		require.LessOrEqual(t, len(recent.mu.keys), maxRecentKeys)
	}
}

// TestTextsOfAnswersAreNotQuoted checks that a response that is not a Status, such as that of a
// proxy, is described but not quoted.
func TestTextsOfAnswersAreNotQuoted(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, code := range []int{400, 401, 403, 404, 406, 415, 418, 429, 500, 502, 503, 504} {
		for _, text := range []string{testkit.Secret, `<p class="x">` + testkit.Secret + "</p>", "e", testkit.Secret + strings.Repeat("x", 2000)} {
			err := apierrors.NewGenericServerResponse(code, http.MethodGet, pods, "", text, 7, true)
			got := RedactedAnswer(fmt.Errorf("wrapped: %w", err))
			assert.NotContains(t, got.Error(), testkit.Secret)
			assert.Equal(t, apierrors.ReasonForError(err), apierrors.ReasonForError(got))
			delay, _ := apierrors.SuggestsClientDelay(got)
			assert.Equal(t, 7, delay)
			if strings.Contains(err.Error(), testkit.Secret) {
				assert.ErrorContains(t, got, fmt.Sprintf("%d bytes of text that are not shown", len(text)))
			}
		}
	}
}

// TestForeignTextsAreNotQuoted checks a Status whose cause says that it does not come from a server,
// but whose message does not have the expected form, and the error of a transport for a response that
// is not HTTP.
func TestForeignTextsAreNotQuoted(t *testing.T) {
	status := apierrors.NewGenericServerResponse(500, http.MethodGet, schema.GroupResource{}, "", testkit.Secret, 0, true)
	status.ErrStatus.Message = "the server says, " + testkit.Secret
	assert.EqualError(t, RedactedAnswer(status), "status 500 (InternalError): 7 bytes of text that are not shown")
	broken := &url.Error{Op: "Get", URL: "https://host/api", Err: fmt.Errorf("malformed HTTP response %q", testkit.Secret)}
	assert.EqualError(t, RedactedAnswer(broken), `Get "https://host/api": malformed HTTP response "..."`)
}

// TestKeyErrorsDoNotQuote checks the KeyError of a store, alone and wrapped in other errors.
func TestKeyErrorsDoNotQuote(t *testing.T) {
	obj := struct{ Password string }{testkit.Secret}
	_, cause := clientgo.MetaNamespaceKeyFunc(obj)
	key := clientgo.KeyError{Obj: obj, Err: cause}
	require.ErrorContains(t, key, testkit.Secret, "what this is about")
	nested := clientgo.KeyError{Obj: []any{obj}, Err: fmt.Errorf("in it: %w", key)}
	for _, err := range []error{key, fmt.Errorf("wrapped: %w", key), nested, errors.Join(key, io.EOF, nested)} {
		for _, got := range []error{Redacted(err), RedactedAnswer(err)} {
			assert.NotContains(t, got.Error(), testkit.Secret)
			assert.Contains(t, got.Error(), "couldn't create key for an object of type")
			var found clientgo.KeyError
			require.ErrorAs(t, got, &found)
			assert.NotNil(t, found.Obj, "the value stays")
		}
	}
}

// TestLongTextsAreShortened checks long texts, also if the cut is within a character or the text is
// wrapped.
func TestLongTextsAreShortened(t *testing.T) {
	long := apierrors.NewInternalError(errors.New(strings.Repeat("ü", 1<<20)))
	got := RedactedAnswer(fmt.Errorf("failed to list: %w", long))
	assert.Less(t, len(got.Error()), 1100)
	assert.True(t, utf8.ValidString(got.Error()))
	assert.ErrorContains(t, got, "bytes more)")
	assert.True(t, apierrors.IsInternalError(got))
}

// TestNothingQuotedRemains checks that no kind of quote of any content remains in a text.
func TestNothingQuotedRemains(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		words := func() string {
			return textOf(t, 0, 5, "unable to decode", ": ", " ", "number 5", "number -1e9", "'x'", `'\n'`, "doesn't", "invalid character '<'", "Object 'Kind'",
				`no kind "K" is registered for version "v" in scheme "s"`)
		}
		inside := func() string { return textOf(t, 0, 10, strings.Split("ab\"'` \\\n", "")...) }
		text := words()
		content := inside() + testkit.Secret + inside()
		mark := draw.Of(t, `"`, "`", `'`, `q`)
		if mark == "q" {
			text += strconv.Quote(content)
		} else {
			text += mark + content + mark
		}
		text += words()
		assert.NotContains(t, unquoted(text), testkit.Secret)
	})
}

// textOf returns least to most of the words.
func textOf(t *draw.T, least, most int, words ...string) string {
	return strings.Join(draw.Slice(t, least, most, func() string { return draw.Of(t, words...) }), "")
}

// TestStatusKeepsNoObject checks that an error about an object without a key does not keep the
// object alive.
func TestStatusKeepsNoObject(t *testing.T) {
	object := func() (weak.Pointer[v1.Pod], error) {
		pod := testkit.PodAt("a", "1")
		return weak.Make(pod), Retainable(fmt.Errorf("unable to sync: %w", Redacted(clientgo.KeyError{Obj: pod, Err: io.EOF})))
	}
	pod, err := object()
	goruntime.GC()
	assert.Nil(t, pod.Value())
	assert.EqualError(t, err, "unable to sync: couldn't create key for an object of type *v1.Pod: EOF")
	var key clientgo.KeyError
	require.ErrorAs(t, err, &key)
	assert.ErrorContains(t, key, "*v1.Pod")
	assert.ErrorIs(t, err, io.EOF)
}

// TestKeptErrorsAnswerAsBefore checks that errors.Is and similar functions return the same for a
// kept error as for the original, for any combination of small and large errors, and that a small
// error is kept as it is.
func TestKeptErrorsAnswerAsBefore(t *testing.T) {
	small := []error{io.EOF, context.Canceled, testkit.ErrForbidden, testkit.ErrExpired, testkit.ErrRefused, testkit.ErrTooManyRequests, runtime.NewMissingKindErr("x")}
	large := []error{
		runtime.NewMissingKindErr(strings.Repeat("x", 2*maxRetained)), runtime.NewMissingVersionErr(strings.Repeat("x", 2*maxRetained)),
		apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(strings.Repeat("x", 2*maxRetained))),
		apierrors.NewTooManyRequests(strings.Repeat("x", 2*maxRetained), 7), clientgo.KeyError{Obj: "x", Err: io.EOF}, errors.New(strings.Repeat("x", 2*maxRetained)),
	}
	draw.Check(t, func(t *draw.T) {
		pool := small
		if t.Bool() {
			pool = append(pool[:len(pool):len(pool)], large...)
		}
		var build func(depth int) error
		build = func(depth int) error {
			switch kind := draw.Int(t, 0, 3); {
			case kind == 0 && depth < 4:
				return fmt.Errorf("wrapped: %w", build(depth+1))
			case kind == 1 && depth < 4:
				return errors.Join(build(depth+1), build(depth+1))
			case kind == 2 && depth < 4:
				return WithText("redacted", build(depth+1))
			}
			return draw.Of(t, pool...)
		}
		err := build(0)
		got := Retainable(err)
		if len(pool) == len(small) {
			require.Equal(t, err, got)
		}
		for _, target := range small {
			require.Equal(t, errors.Is(err, target), errors.Is(got, target), "%v", target)
		}
		require.Equal(t, apierrors.ReasonForError(err), apierrors.ReasonForError(got))
		was, _ := apierrors.SuggestsClientDelay(err)
		is, _ := apierrors.SuggestsClientDelay(got)
		require.Equal(t, was, is)
		var key clientgo.KeyError
		require.Equal(t, errors.As(err, &key), errors.As(got, &key))
		if _, bare := err.(clientgo.KeyError); !bare {
			require.True(t, got.Error() == err.Error() || got.Error() == Shortened(err.Error()))
		}
		require.False(t, isLargeBeside(got))
	})
}

// isLargeBeside reports whether err has an error that is large, other than a KeyError without its object.
func isLargeBeside(err error) bool {
	if key, is := err.(clientgo.KeyError); is {
		return key.Obj != "of type string" || isLargeBeside(key.Err)
	}
	return err != nil && (len(err.Error()) > maxRetained || slices.ContainsFunc(causesOf(err), isLargeBeside))
}

// TestLaterVersionIsTheGreaterOfTwoNumbers checks that the greater number is returned, and, if the
// versions are not numbers, the one seen last that is not empty.
func TestLaterVersionIsTheGreaterOfTwoNumbers(t *testing.T) {
	numbers := strings.Split("0123456789", "")
	versions := []func(t *draw.T) string{
		func(t *draw.T) string {
			return draw.Of(t, "", "0", "00", "1", "9", "01", "10", "99", "1a", "a1", "-1", "+1", " 1", "1 ", "٣", "\xff", "18446744073709551616")
		},
		func(t *draw.T) string { return textOf(t, 0, 4, numbers...) },
		func(t *draw.T) string { return textOf(t, 1, 1, numbers[1:]...) + textOf(t, 17, 22, numbers...) },
		func(t *draw.T) string { return textOf(t, 0, 3, append(numbers, "a", ":", "/", " ")...) },
		func(t *draw.T) string {
			return string(draw.Slice(t, 0, 20, func() rune { return draw.Int(t, 0, utf8.MaxRune) }))
		},
	}
	draw.Check(t, func(t *draw.T) {
		held, seen := draw.Of(t, versions...)(t), draw.Of(t, versions...)(t)
		want := seen
		if order, err := resourceversion.CompareResourceVersion(held, seen); seen == "" || err == nil && order > 0 {
			want = held
		}
		assert.Equal(t, want, LaterVersion(held, seen))
	})
}

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestPathsWithoutKeys: the texts of errors do not have the keys of maps, which encoding/json names from Go 1.27 on.
func TestPathsWithoutKeys(t *testing.T) {
	for text, want := range map[string]string{
		"json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64":             "",
		"json: cannot unmarshal string into Go struct field ObjectMeta.labels.hunter2 of type int64":         "json: cannot unmarshal string into Go struct field ObjectMeta.labels... of type int64",
		"json: cannot unmarshal string into Go struct field .hunter2 of type hunter2 of type int64":          "json: cannot unmarshal string into Go struct field ... of type int64",
		"json: cannot unmarshal string into Go struct field .a into Go struct field A.b of type b of type c": "json: cannot unmarshal string into Go struct field ... of type c",
		"json: cannot unmarshal string into Go value of type int":                                            "",
	} {
		if want == "" {
			want = text
		}
		assert.Equal(t, want, withoutKeys(text))
	}
}
