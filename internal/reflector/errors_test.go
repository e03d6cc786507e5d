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
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"

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
