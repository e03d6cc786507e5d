// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// AsClientGoAdaptsIt returns what an informer is given for a handler of AddTypedEventHandler.
func AsClientGoAdaptsIt(t *testing.T, handler clientgo.TypedResourceEventHandler[*corev1.Pod]) clientgo.ResourceEventHandler {
	caught := &catcher{}
	_, err := clientgo.NewTypedSharedIndexInformer[*corev1.Pod](caught).AddTypedEventHandler(handler)
	require.NoError(t, err)
	return caught.handler
}

type catcher struct {
	clientgo.SharedIndexInformer
	handler clientgo.ResourceEventHandler
}

func (c *catcher) AddEventHandlerWithOptions(handler clientgo.ResourceEventHandler, _ clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	c.handler = handler
	return nil, nil
}
