// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/cache/factory"
)

// TestForeign: both holders of a factory share its informers. One that the factory had before Wrap, such
// as kube-scheduler's of pods, is kept, logged once and listed. With Take it is neither logged nor listed.
func TestForeign(t *testing.T) {
	inner := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	inner.Core().V1().Nodes().Informer()
	factory.Take(inner.InformerFor, &corev1.Pod{}, podsOf)
	f := factory.Wrap(inner)
	lines := logged(t, "of another package", func() {
		f.Core().V1().Nodes().Informer()
		f.Core().V1().Nodes().Lister()
		f.Core().V1().Pods().Informer()
		f.Core().V1().Services().Informer()
	})
	assert.Len(t, lines, 1)
	assert.True(t, isOurs(inner.Core().V1().Services().Informer()), "the old holder gets the informer that exists")
	assert.False(t, isOurs(f.Core().V1().Nodes().Informer()), "existing informers are kept")
	run(t, f)
	foreign := []reflect.Type{reflect.TypeFor[*corev1.Node]()}
	assert.Equal(t, foreign, factory.Foreign(f))
	assert.Equal(t, foreign, factory.Foreign(inner))
}
