// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
)

// TestReportOfAFailedAudit: a report knows what was not compared, and what was not looked at twice.
func TestReportOfAFailedAudit(t *testing.T) {
	assert.False(t, audit.Report{}.Equal())
	synctest.Test(t, func(t *testing.T) {
		src := pods("a")
		r := follow(t, src, src, nil)
		forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
		src.FailNext(cachetest.VerbList, forbidden)
		report, err := audit.Once(t.Context(), r, audit.Options{})
		assert.True(t, apierrors.IsForbidden(err))
		assert.False(t, report.Equal())
		assert.Equal(t, "*v1.Pod, by versions: not compared", report.String())

		require.NoError(t, r.GetStore().Delete(r.stored("a")))
		src.FailNext(cachetest.VerbList, nil, forbidden)
		report, err = audit.Once(t.Context(), r, audit.Options{Repair: audit.Relist})
		assert.True(t, apierrors.IsForbidden(err))
		assert.False(t, report.Equal())
		assert.Nil(t, report.Confirmed)
		assert.False(t, report.Relisted)
		assert.Equal(t, `*v1.Pod: 0 objects at version "2", by versions: 1 missing, not confirmed (missing ns/a)`, report.String())
	})
}
