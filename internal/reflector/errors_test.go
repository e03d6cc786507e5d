// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// TestErrorsDoNotQuoteWhatHasNoKind: a server, or a proxy, that leaves out the kind had the whole
// list in the log.
func TestErrorsDoNotQuoteWhatHasNoKind(t *testing.T) {
	const content = `{"data":{"password":"secret"}}`
	for _, missing := range []error{runtime.NewMissingKindErr(content), runtime.NewMissingVersionErr(content)} {
		require.ErrorContains(t, missing, "secret", "what this is about")

		server := &clientgo.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, missing },
		}
		r := New(Options{ListerWatcher: server, Sink: Foreign(&testkit.StoreLog{})})
		_, listed := newMachine(r.memory).pageFrom(context.Background(), r.lists, metav1.ListOptions{})
		watched := errorOf(&apierrors.NewInternalError(fmt.Errorf("unable to decode: %w", missing)).ErrStatus)
		for _, err := range []error{listed, watched} {
			assert.NotContains(t, err.Error(), "secret")
			assert.Contains(t, err.Error(), "is missing")
		}
		assert.ErrorIs(t, listed, missing)
		assert.True(t, apierrors.IsInternalError(watched), "what the error is stays")
	}
	other := errors.New("other")
	assert.Same(t, other, event.DiscreetAnswer(other))
	assert.NoError(t, event.DiscreetAnswer(nil))
}

// TestIsOutOfReach tells no answer from one that is not liked.
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
