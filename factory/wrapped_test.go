// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/factory"
)

// TestForeign: an informer that the factory had before Wrap, such as kube-scheduler's of pods, is
// logged once and listed. With Take it is neither.
func TestForeign(t *testing.T) {
	clientGos := func(c kubernetes.Interface, resync time.Duration) clientgo.SharedIndexInformer {
		return coreinformers.NewFilteredPodInformer(c, metav1.NamespaceAll, resync, clientgo.Indexers{}, nil)
	}
	pod := []reflect.Type{reflect.TypeFor[*corev1.Pod]()}
	for name, c := range map[string]struct {
		take    bool
		logged  int
		foreign []reflect.Type
	}{
		"before Wrap": {logged: 1, foreign: pod},
		"taken":       {take: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			if c.take {
				factory.Take(f.InformerFor, &corev1.Pod{}, podsOf)
			} else {
				f.InformerFor(&corev1.Pod{}, clientGos)
			}
			wrapped := factory.Wrap(f)
			lines := logged(t, "of another package", func() {
				wrapped.Core().V1().Pods().Informer()
				wrapped.Core().V1().Pods().Lister()
				wrapped.Core().V1().Nodes().Informer()
			})
			assert.Len(t, lines, c.logged)
			ctx, cancel := context.WithCancel(t.Context())
			wrapped.StartWithContext(ctx)
			defer wrapped.Shutdown()
			defer cancel()
			assert.Equal(t, c.foreign, factory.Foreign(wrapped))
			assert.Equal(t, c.foreign, factory.Foreign(f))
		})
	}
}
