// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// slowPages is a source whose informer waits for an hour for each second page, and then gets an
// error.
type slowPages struct {
	*cachetest.Source
	slow atomic.Bool
}

func (s *slowPages) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.Continue != "" && o.Limit == 150 && s.slow.Load() {
		time.Sleep(time.Hour)
		return nil, errors.New("no second page")
	}
	return s.Source.ListWithContext(ctx, o)
}

func (s *slowPages) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// TestRefusedWhileRelisted: what the transform has refused stays that until the state is stored
// that has it: neither a relist that goes on, nor one that has failed, makes a finding of it.
func TestRefusedWhileRelisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := make([]string, 200)
		for i := range names {
			names[i] = fmt.Sprintf("p%03d", i)
		}
		src := &slowPages{Source: pods(names...)}
		var strict atomic.Bool
		strict.Store(true)
		refuses := func(obj any) (any, error) {
			if strict.Load() && obj.(*corev1.Pod).Labels["v"] == "bad" {
				return nil, errors.New("cannot take it")
			}
			return obj, nil
		}
		r := follow(t, src.Source, src, refuses, cache.WithCachedOnTransformError(), cache.WithListMode(cache.ListModeList), cache.WithPageSize(150))
		src.Put(testkit.Pod("p000", "bad"))
		src.Put(testkit.Pod("p001", "2"))
		r.calm()
		isRefused := func() {
			report := r.once(t, audit.Options{Repair: audit.Relist})
			assert.Empty(t, report.Findings)
			assert.Equal(t, 1, report.Refused)
		}
		isRefused()
		strict.Store(false)
		src.slow.Store(true)
		require.NoError(t, cache.Relist(r))
		r.calm()
		isRefused()
		time.Sleep(time.Hour)
		r.calm()
		isRefused()
		src.slow.Store(false)
		time.Sleep(2 * time.Hour)
		report := r.once(t, audit.Options{Depth: audit.Content})
		assert.Empty(t, report.Findings)
		assert.Zero(t, report.Refused)
		assert.Equal(t, "bad", r.stored("p000").Labels["v"])
	})
}
