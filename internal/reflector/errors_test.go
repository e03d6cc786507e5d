// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		_, listed := newMachine(r.memory).listPage(context.Background(), metav1.ListOptions{})
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
