// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/testkit"
)

// TestTextsOfAnswersAreNotQuoted: an answer that is no Status, as that of a proxy, is described.
func TestTextsOfAnswersAreNotQuoted(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, code := range []int{400, 401, 403, 404, 406, 415, 418, 429, 500, 502, 503, 504} {
		for _, text := range []string{testkit.Secret, `<p class="x">` + testkit.Secret + "</p>", "e", testkit.Secret + strings.Repeat("x", 2000)} {
			err := apierrors.NewGenericServerResponse(code, http.MethodGet, pods, "", text, 7, true)
			got := DiscreetAnswer(fmt.Errorf("wrapped: %w", err))
			assert.NotContains(t, got.Error(), testkit.Secret)
			assert.Equal(t, apierrors.ReasonForError(err), apierrors.ReasonForError(got))
			delay, _ := apierrors.SuggestsClientDelay(got)
			assert.Equal(t, 7, delay)
			if strings.Contains(err.Error(), testkit.Secret) {
				assert.ErrorContains(t, got, fmt.Sprintf("%d bytes of text that are not shown", len(text)))
				assert.ErrorContains(t, got, "(get pods)")
			}
		}
	}
}

// TestForeignStatusesAreNotQuoted: a Status that says, by its cause, that it is no answer of a
// server, but whose message is put together otherwise than expected.
func TestForeignStatusesAreNotQuoted(t *testing.T) {
	err := apierrors.NewGenericServerResponse(500, http.MethodGet, schema.GroupResource{}, "", testkit.Secret, 0, true)
	err.ErrStatus.Message = "the server says, " + testkit.Secret
	assert.EqualError(t, DiscreetAnswer(err), "status 500 (InternalError): 7 bytes of text that are not shown")
}

// TestBrokenHTTPIsNotQuoted: what a transport says of an answer that is not HTTP.
func TestBrokenHTTPIsNotQuoted(t *testing.T) {
	err := &url.Error{Op: "Get", URL: "https://host/api", Err: fmt.Errorf("malformed HTTP response %q", testkit.Secret)}
	assert.EqualError(t, DiscreetAnswer(err), `Get "https://host/api": malformed HTTP response "..."`)
}

// TestKeyErrorsDoNotQuote: neither one of a store, nor one in the middle of others.
func TestKeyErrorsDoNotQuote(t *testing.T) {
	obj := struct{ Password string }{testkit.Secret}
	_, cause := clientgo.MetaNamespaceKeyFunc(obj)
	key := clientgo.KeyError{Obj: obj, Err: cause}
	require.ErrorContains(t, key, testkit.Secret, "what this is about")
	nested := clientgo.KeyError{Obj: []any{obj}, Err: fmt.Errorf("in it: %w", key)}
	for _, err := range []error{key, fmt.Errorf("wrapped: %w", key), nested, errors.Join(key, io.EOF, nested)} {
		for _, got := range []error{Discreet(err), DiscreetAnswer(err)} {
			assert.NotContains(t, got.Error(), testkit.Secret)
			assert.Contains(t, got.Error(), "couldn't create key for an object of type")
			var found clientgo.KeyError
			require.ErrorAs(t, got, &found)
			assert.NotNil(t, found.Obj, "the value stays")
		}
	}
}

// TestLongTextsAreShortened: also where a character would be cut, and in the middle of others.
func TestLongTextsAreShortened(t *testing.T) {
	long := apierrors.NewInternalError(errors.New(strings.Repeat("ü", 1<<20)))
	got := DiscreetAnswer(fmt.Errorf("failed to list: %w", long))
	assert.Less(t, len(got.Error()), 1100)
	assert.True(t, utf8.ValidString(got.Error()))
	assert.ErrorContains(t, got, "bytes more)")
	assert.True(t, apierrors.IsInternalError(got))
}

// TestNothingQuotedRemains: whatever is quoted, and whatever it is, is gone from the text.
func TestNothingQuotedRemains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{
			"unable to decode", ": ", " ", "number 5", "number -1e9", "'x'", `'\n'`, "doesn't", `no kind "K" is registered for version "v" in scheme "s"`,
		}), 0, 5)
		inside := rapid.StringOf(rapid.SampledFrom([]rune("ab\"'` \\\n")))
		text := strings.Join(words.Draw(t, "before"), "")
		content := inside.Draw(t, "content") + testkit.Secret + inside.Draw(t, "content")
		mark := rapid.SampledFrom([]string{`"`, "`", `q`}).Draw(t, "mark")
		if mark == "q" {
			text += strconv.Quote(content)
		} else {
			text += mark + content + mark
		}
		text += strings.Join(words.Draw(t, "after"), "")
		assert.NotContains(t, withoutQuotes(text), testkit.Secret)
	})
}
