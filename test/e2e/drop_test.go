// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/apiserver"
	"github.com/kinformer/cache/test/e2e/follow"
)

// asking counts requests for lists and watches of config maps that ask to leave out managed fields.
type asking struct {
	next          http.RoundTripper
	asked, others atomic.Int64
}

func (a *asking) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "/configmaps") {
		if strings.Contains(req.Header.Get("Accept"), "drop=metadata.managedFields") {
			a.asked.Add(1)
		} else {
			a.others.Add(1)
		}
	}
	return a.next.RoundTrip(req)
}

// startable is a factory.
type startable interface {
	StartWithContext(context.Context)
	Shutdown()
}

// TestServerIsAskedToDrop checks that a server which does not know the parameter for managed fields answers
// requests with it as ever, and that the informer, which drops the fields itself, decodes directly.
func TestServerIsAskedToDrop(t *testing.T) {
	ctx, srv := follow.StartServer(t, apiserver.Options{})
	client, err := kubernetes.NewForConfig(srv.Config())
	require.NoError(t, err)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i)}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	write(0, 20)
	options := factory.WithInformerOptions(kinformer.Options{Decoding: kinformer.Decoding{Drop: []string{"metadata.managedFields"}}})
	typed := func(t *testing.T, config *rest.Config) (cache.SharedIndexInformer, startable) {
		f := factory.Wrap(informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0), options)
		return f.Core().V1().ConfigMaps().Informer(), f
	}
	number := 20
	for name, start := range map[string]func(*testing.T, *rest.Config) (cache.SharedIndexInformer, startable){
		"JSON": typed,
		"protobuf": func(t *testing.T, config *rest.Config) (cache.SharedIndexInformer, startable) {
			config.ContentType = runtime.ContentTypeProtobuf
			return typed(t, config)
		},
		"metadata": func(t *testing.T, config *rest.Config) (cache.SharedIndexInformer, startable) {
			f := factory.Metadata(metadata.NewForConfigOrDie(config), 0, options)
			return f.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer(), f
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, seen := srv.Config(), &asking{}
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				seen.next = next
				return seen
			})
			config.Wrap(direct.Transport)
			informer, f := start(t, config)
			running, stop := context.WithCancel(ctx)
			defer f.Shutdown()
			defer stop()
			f.StartWithContext(running)
			syncedDirectly(t, informer)
			write(number, number+20)
			number += 20
			require.NoError(t, until(ctx, func() bool { return len(informer.GetStore().ListKeys()) >= number }))
			for _, obj := range informer.GetStore().List() {
				assert.Empty(t, obj.(metav1.Object).GetManagedFields())
			}
			assert.Zero(t, syncedDirectly(t, informer).Decoding.Verified.Differences)
			assert.Positive(t, seen.asked.Load())
			assert.Zero(t, seen.others.Load())
		})
	}
}
