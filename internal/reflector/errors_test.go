// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestIsOutOfReach: a missing answer is distinguished from a negative one.
func TestIsOutOfReach(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused":               {testkit.ErrRefused, true},
		"reset":                 {fmt.Errorf("read: %w", syscall.ECONNRESET), true},
		"certificate":           {&url.Error{Op: "Get", URL: "/", Err: errors.New("x509: unknown authority")}, true},
		"too late":              {fmt.Errorf("failed to list: %w", context.DeadlineExceeded), true},
		"end of the connection": {io.ErrUnexpectedEOF, true},
		"closed at once":        {&clientgo.VeryShortWatchError{Name: "r"}, false},
		"unavailable":           {apierrors.NewServiceUnavailable("starting"), true},
		"internal":              {testkit.ErrInternal, true},
		"bad gateway":           {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", v1.Resource("pods"), "", "", 0, true), true},
		"busy":                  {fmt.Errorf("failed to list: %w", testkit.ErrTooManyRequests), true},

		"version ahead of the server": {apierrors.NewTimeoutError(tooLargeVersion, 1), false},
		"forbidden":                   {testkit.ErrForbidden, false},
		"expired":                     {testkit.ErrExpired, false},
		"not found":                   {apierrors.NewNotFound(v1.Resource("pods"), ""), false},
		"of a fake":                   {errors.New("no"), false},
		"closed":                      {errClosed, false},
		"no list":                     {errNoList, false},
	} {
		assert.Equal(t, tc.want, isOutOfReach(tc.err), name)
	}
}

// decoderErrors returns errors of decoders that quote their input.
func decoderErrors() map[string]error {
	_, timeErr := time.Parse(time.RFC3339, testkit.Secret)
	_, numberErr := strconv.Atoi(testkit.Secret)
	_, durationErr := time.ParseDuration("1" + testkit.Secret)
	quoted := string([]byte{58}) + testkit.Secret // not a URL
	_, urlErr := url.Parse(quoted)
	return map[string]error{
		"time": timeErr, "number": numberErr, "duration": durationErr, "url": urlErr,
		"JSON number": json.Unmarshal([]byte(`{"generation":31337.5}`), &metav1.ObjectMeta{}),
		"no kind":     runtime.NewMissingKindErr(`{"data":{"it's":"hunter2"}}`),
		"no version":  runtime.NewMissingVersionErr(`{"data":"hunter2"}`),
		"JSON key":    json.Unmarshal([]byte(`{"hunter2 into Go 31337":1}`), &map[int]int{}),
		"one's own":   fmt.Errorf("level %q or `%s` or '%s', of \"%s\" and that, is not known", testkit.Secret, testkit.Secret, testkit.Secret, `x"hunter2"y`),
	}
}

// assertRedacted fails if the text of err has the secret, or if err no longer wraps cause.
func assertRedacted(t *testing.T, err, cause error) {
	t.Helper()
	assert.NotContains(t, err.Error(), testkit.Secret)
	assert.NotContains(t, err.Error(), "31337")
	assert.ErrorIs(t, err, cause, "the value stays")
}

// TestAnswersAreNotQuoted: the texts of errors do not quote the input of decoders, however they
// wrap the decoder's error.
func TestAnswersAreNotQuoted(t *testing.T) {
	for name, err := range decoderErrors() {
		t.Run(name, func(t *testing.T) {
			require.Regexp(t, testkit.Secret+"|31337", err.Error(), "what this is about")
			server := &testkit.Server{OnList: func(int, context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err }}
			assertRedacted(t, listOnly(server, &testkit.StoreLog{}).ListAndWatch(t.Context()), err)
			assertRedacted(t, event.RedactedAnswer(err), err)
			assertRedacted(t, event.RedactedAnswer(fmt.Errorf("unable to decode: %w", err)), err)
			assertRedacted(t, event.RedactedAnswer(errors.Join(err, fmt.Errorf("and again: %w", err))), err)

			event := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding").AsObject(fmt.Errorf("unable to decode an event: %w", err))
			watched := errorOf(event)
			assert.NotContains(t, watched.Error(), testkit.Secret)
			assert.NotContains(t, watched.Error(), "31337")
			assert.Contains(t, watched.Error(), "unable to decode an event")
			assert.True(t, apierrors.IsInternalError(watched))
		})
	}
}

// TestStatusWithoutAMessage: a Status without a message adds nothing to the text.
func TestStatusWithoutAMessage(t *testing.T) {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: event.CauseWatchDecoding, Message: "unable to decode"}},
	}}}
	assert.Equal(t, "failed to list: ", event.RedactedAnswer(fmt.Errorf("failed to list: %w", err)).Error())
}

// unreached returns the error of a client whose request got no response.
func unreached(cause error) error {
	return &url.Error{Op: "Get", URL: "https://host:6443/api/v1/pods?limit=500&resourceVersion=0", Err: cause}
}

// TestErrorsWithoutObjectsAreUnchanged: errors that do not quote an object are returned unchanged.
func TestErrorsWithoutObjectsAreUnchanged(t *testing.T) {
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded, testkit.ErrForbidden, testkit.ErrExpired, testkit.ErrTooManyRequests, testkit.ErrRefused,
		apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(`User "eve" cannot list resource "pods" in API group "" at the cluster scope`)),
		unreached(errors.New("getting credentials: exec: executable aws failed with exit code 255")),
		unreached(&net.DNSError{Err: "no such host", Name: "host", Server: "10.0.0.10:53", IsNotFound: true}),
		unreached(context.DeadlineExceeded), fmt.Errorf("wrapped: %w", unreached(io.EOF)),
		unreached(errors.New(`tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of ` +
			`"crypto/rsa: verification error" while trying to verify candidate authority certificate "kubernetes")`)),
		unreached(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"kubernetes", "localhost"}}, Host: "host"}),
		&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Widget"}, SearchedVersions: []string{"v1"}},
		runtime.NewNotRegisteredErrForKind("scheme.go:1", schema.GroupVersionKind{Version: "v1", Kind: "Widget"}),
		fmt.Errorf("unable to decode: %w", runtime.NewNotRegisteredErrForKind("scheme.go:1", schema.GroupVersionKind{Version: "v1"})),
		errors.New("invalid character '<' looking for beginning of value"), errors.New(`invalid character '\n' in string literal`), errors.New(`invalid character '\'' after array element`),
		errors.New("couldn't get version/kind; json parse error: unexpected end of JSON input"),
		errors.New("the server can't, and won't, do it"), errNoList, errNoStream, nil,
	} {
		assert.Equal(t, err, event.RedactedAnswer(err))
		assert.Equal(t, err, event.Redacted(err))
	}
	assert.EqualError(t, event.RedactedAnswer(errors.New(`bad value "`+testkit.Secret)), `bad value "..."`, "a quote that does not end")
	parse := event.RedactedAnswer(decoderErrors()["time"])
	assert.EqualError(t, parse, `parsing time "..."`)
	assert.EqualError(t, event.RedactedAnswer(decoderErrors()["JSON number"]),
		"json: cannot unmarshal number ... into Go struct field ObjectMeta.generation of type int64")
}
