// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache/cachetest"
)

// FailureNamed is the error of that name.
func FailureNamed(t *testing.T, name string) error {
	failures := map[string]error{
		"429": cachetest.TooManyRequests(0), "410": cachetest.Expired(), "500": cachetest.InternalError(), "refused": cachetest.ConnectionRefused(),
		"403": ErrForbidden, "401": apierrors.NewUnauthorized("no"), "404": apierrors.NewNotFound(v1.Resource("pods"), ""),
		"too-large": cachetest.TooLargeResourceVersion(99, 1), "timeout": context.DeadlineExceeded, "none": nil,
		"429-after-30s": cachetest.TooManyRequests(30 * time.Second),
	}
	require.Contains(t, failures, name)
	return failures[name]
}
