// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

// secret is what no text may have.
const secret = "hunter2"

// decoderErrors are errors of decoders, that quote what they found.
func decoderErrors() map[string]error {
	_, timeErr := time.Parse(time.RFC3339, secret)
	_, numberErr := strconv.Atoi(secret)
	_, durationErr := time.ParseDuration("1" + secret)
	quoted := string([]byte{58}) + secret // no URL
	_, urlErr := url.Parse(quoted)
	return map[string]error{
		"time": timeErr, "number": numberErr, "duration": durationErr, "url": urlErr,
		"JSON number": json.Unmarshal([]byte(`{"generation":31337.5}`), &metav1.ObjectMeta{}),
		"no kind":     runtime.NewMissingKindErr(`{"data":{"it's":"hunter2"}}`),
		"no version":  runtime.NewMissingVersionErr(`{"data":"hunter2"}`),
		"one's own":   fmt.Errorf("level %q or `%s` or '%s', of \"%s\" and that, is not known", secret, secret, secret, `x"hunter2"y`),
	}
}

// assertDiscreet fails if the text of err has the secret, or err is not what it is made of any more.
func assertDiscreet(t *testing.T, err, cause error) {
	t.Helper()
	assert.NotContains(t, err.Error(), secret)
	assert.NotContains(t, err.Error(), "31337")
	assert.ErrorIs(t, err, cause, "the value stays")
}

// TestAnswersAreNotQuoted: what decoders found is not in texts, however it was wrapped.
func TestAnswersAreNotQuoted(t *testing.T) {
	for name, err := range decoderErrors() {
		t.Run(name, func(t *testing.T) {
			require.Regexp(t, secret+"|31337", err.Error(), "what this is about")
			assertDiscreet(t, discreetAnswer(err), err)
			assertDiscreet(t, discreetAnswer(fmt.Errorf("unable to decode: %w", err)), err)
			assertDiscreet(t, discreetAnswer(errors.Join(err, fmt.Errorf("and again: %w", err))), err)

			event := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding").AsObject(fmt.Errorf("unable to decode an event: %w", err))
			watched := errorOf(event)
			assert.NotContains(t, watched.Error(), secret)
			assert.NotContains(t, watched.Error(), "31337")
			assert.Contains(t, watched.Error(), "unable to decode an event")
			assert.True(t, apierrors.IsInternalError(watched))
		})
	}
}

// TestTextsOfAnswersAreNotQuoted: an answer that is no Status, as that of a proxy, is described.
func TestTextsOfAnswersAreNotQuoted(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, code := range []int{400, 401, 403, 404, 406, 415, 418, 429, 500, 502, 503, 504} {
		for _, text := range []string{secret, `<p class="x">` + secret + "</p>", "e", secret + strings.Repeat("x", 2000)} {
			err := apierrors.NewGenericServerResponse(code, http.MethodGet, pods, "", text, 7, true)
			got := discreetAnswer(fmt.Errorf("wrapped: %w", err))
			assert.NotContains(t, got.Error(), secret)
			assert.Equal(t, apierrors.ReasonForError(err), apierrors.ReasonForError(got))
			delay, _ := apierrors.SuggestsClientDelay(got)
			assert.Equal(t, 7, delay)
			if strings.Contains(err.Error(), secret) {
				assert.ErrorContains(t, got, fmt.Sprintf("%d bytes of text that are not shown", len(text)))
				assert.ErrorContains(t, got, "(get pods)")
			}
		}
	}
}

// TestForeignStatusesAreNotQuoted: a Status that says, by its cause, that it is no answer of a server, but whose message is put
// together otherwise than expected.
func TestForeignStatusesAreNotQuoted(t *testing.T) {
	err := apierrors.NewGenericServerResponse(500, http.MethodGet, schema.GroupResource{}, "", secret, 0, true)
	err.ErrStatus.Message = "the server says, " + secret
	assert.EqualError(t, discreetAnswer(err), "status 500 (InternalError): 7 bytes of text that are not shown")
}

// TestWhatMayBeSaid: errors that help, and quote no object, stay what they are, to the value.
func TestWhatMayBeSaid(t *testing.T) {
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, errForbidden, errExpired, errTooManyRequests, errRefused,
		apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(`User "eve" cannot list resource "pods" in API group "" at the cluster scope`)),
		&url.Error{Op: "Get", URL: "https://host:6443/api/v1/pods?limit=500", Err: fmt.Errorf(`getting credentials: exec: executable "foo": %w`, syscall.ENOENT)},
		&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Widget"}, SearchedVersions: []string{"v1"}},
		runtime.NewNotRegisteredErrForKind("scheme.go:1", schema.GroupVersionKind{Version: "v1", Kind: "Widget"}),
		fmt.Errorf("unable to decode: %w", runtime.NewNotRegisteredErrForKind("scheme.go:1", schema.GroupVersionKind{Version: "v1"})),
		errors.New("invalid character '<' looking for beginning of value"), errors.New(`invalid character '\'' or '\n' in string`),
		errors.New("the server can't, and won't, do it"), errNoList, errNoStream, nil,
	} {
		assert.Equal(t, err, discreetAnswer(err))
		assert.Equal(t, err, discreet(err))
	}
	assert.EqualError(t, discreetAnswer(errors.New(`bad value "`+secret)), `bad value "..."`, "a quote that does not end")
	parse := discreetAnswer(decoderErrors()["time"])
	assert.EqualError(t, parse, `parsing time "..."`)
	assert.EqualError(t, discreetAnswer(decoderErrors()["JSON number"]),
		"json: cannot unmarshal number ... into Go struct field ObjectMeta.generation of type int64")
}

// TestBrokenHTTPIsNotQuoted: what a transport says of an answer that is not HTTP.
func TestBrokenHTTPIsNotQuoted(t *testing.T) {
	err := &url.Error{Op: "Get", URL: "https://host/api", Err: fmt.Errorf("malformed HTTP response %q", secret)}
	assert.EqualError(t, discreetAnswer(err), `Get "https://host/api": malformed HTTP response "..."`)
}

// TestKeyErrorsDoNotQuote: neither one of a store, nor one in the middle of others.
func TestKeyErrorsDoNotQuote(t *testing.T) {
	obj := struct{ Password string }{secret}
	_, cause := MetaNamespaceKeyFunc(obj)
	key := KeyError{Obj: obj, Err: cause}
	require.ErrorContains(t, key, secret, "what this is about")
	nested := KeyError{Obj: []any{obj}, Err: fmt.Errorf("in it: %w", key)}
	for _, err := range []error{key, fmt.Errorf("wrapped: %w", key), nested, errors.Join(key, io.EOF, nested)} {
		for _, got := range []error{discreet(err), discreetAnswer(err)} {
			assert.NotContains(t, got.Error(), secret)
			assert.Contains(t, got.Error(), "couldn't create key for an object of type")
			var found KeyError
			require.ErrorAs(t, got, &found)
			assert.NotNil(t, found.Obj, "the value stays")
		}
	}
}

// TestLongTextsAreShortened: also where a character would be cut, and in the middle of others.
func TestLongTextsAreShortened(t *testing.T) {
	long := apierrors.NewInternalError(errors.New(strings.Repeat("ü", 1<<20)))
	got := discreetAnswer(fmt.Errorf("failed to list: %w", long))
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
		content := inside.Draw(t, "content") + secret + inside.Draw(t, "content")
		mark := rapid.SampledFrom([]string{`"`, "`", `q`}).Draw(t, "mark")
		if mark == "q" {
			text += strconv.Quote(content)
		} else {
			text += mark + content + mark
		}
		text += strings.Join(words.Draw(t, "after"), "")
		assert.NotContains(t, withoutQuotes(text), secret)
	})
}

// keyless is an object without metadata.
func keyless() runtime.Object { return &metav1.Status{Message: secret} }

// failing is a key function, or a store, that has no key for anything.
func failing(obj any) (string, error) { return "", KeyError{Obj: obj, Err: errors.New("no key today")} }

// keylessStore is a store of the user's that refuses everything.
type keylessStore struct{ ReflectorStore }

func (keylessStore) Replace([]any, string) error { return nil }
func (keylessStore) Add(obj any) error           { _, err := failing(obj); return err }
func (keylessStore) Resync() error               { return KeyError{Obj: keyless(), Err: io.EOF} }

// TestObjectsStayOutOfLogs: wherever an object without a key turns up, in a list, a stream or a watch, in a store or a process
// function, what is logged and reported, and what statuses say, names its type at most.
func TestObjectsStayOutOfLogs(t *testing.T) {
	items := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []runtime.RawExtension{{Object: keyless()}}}
	hidden := podAt("a", "6")
	hidden.Labels = map[string]string{"password": secret}
	event := watch.Event{Type: watch.Added, Object: hidden}
	follow := func(t *testing.T, informer Controller) (said []error) {
		synctest.Test(t, func(t *testing.T) {
			stop := running(t, informer)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			status, err := StatusOf(informer)
			require.NoError(t, err)
			stats, ok := QueueStatsOf(informer)
			require.True(t, ok)
			stop()
			said = append(said, status.LastError, stats.LastProcessError, stats.LastTransformError, errors.New(status.String()))
		})
		return said
	}
	for name, run := range map[string]func(t *testing.T) []error{
		"list": func(t *testing.T) []error {
			return follow(t, NewSharedIndexInformer(&fakeServer{noStream: true, list: listOf(items), watch: watches()}, nil, 0, Indexers{}))
		},
		"transform": func(t *testing.T) []error {
			informer := informerOf(&fakeServer{noStream: true, list: listOf(podList("5", hidden)), watch: watches(sent(event))}, WithCachedOnTransformError())
			require.NoError(t, informer.SetTransform(func(obj any) (any, error) { _, err := failing(obj); return nil, err }))
			return follow(t, informer)
		},
		"index": func(t *testing.T) []error {
			informer := informerOf(&fakeServer{noStream: true, list: listOf(podList("5", hidden)), watch: watches(sent(event))})
			require.NoError(t, informer.AddIndexers(Indexers{"i": func(obj any) ([]string, error) { _, err := failing(obj); return nil, err }}))
			return follow(t, informer)
		},
		"process": func(t *testing.T) []error {
			return follow(t, New(&Config{
				Queue:         NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}),
				ListerWatcher: &fakeServer{noStream: true, list: listOf(podList("5", hidden)), watch: watches(sent(event))},
				Process: func(obj any, _ bool) error {
					_, err := failing(obj)
					return fmt.Errorf("process: %w", err)
				},
			}))
		},
		"retried": func(t *testing.T) []error {
			return follow(t, New(&Config{
				Queue:         NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}),
				ListerWatcher: &fakeServer{noStream: true, list: listOf(podList("5", hidden)), watch: watches(sent(event))},
				Process:       RetryProcess(RetryPolicy{MaxAttempts: 1}, func(obj any, _ bool) error { _, err := failing(obj); return err }),
			}))
		},
		"foreign store": func(t *testing.T) []error {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(sent(event))}
				stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(keylessStore{}), resyncPeriod: time.Second}).run)
				time.Sleep(3 * time.Second)
				stop()
			})
			return nil
		},
		"foreign store, stream": func(t *testing.T) []error {
			synctest.Test(t, func(t *testing.T) {
				server := &fakeServer{watch: watches(sent(watch.Event{Type: watch.Added, Object: hidden}, endMark("7")))}
				stop := inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(keylessStore{}), resyncPeriod: time.Second}).run)
				time.Sleep(3 * time.Second)
				stop()
			})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lines logged
			t.Cleanup(klog.CaptureState().Restore)
			klog.SetLogger(funcr.New(lines.write, funcr.Options{Verbosity: 4}))
			reported := reports(t)
			said := run(t)
			texts := append(reported(), lines.take()...)
			for _, err := range said {
				texts = append(texts, fmt.Sprint(err))
			}
			assert.Regexp(t, "object of type|no key", strings.Join(texts, "\n"), "something was said about it")
			for _, text := range texts {
				assert.NotContains(t, text, secret)
			}
		})
	}
}
