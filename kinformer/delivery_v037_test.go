// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	coreinformers "k8s.io/client-go/informers/core/v1"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

// TestTypedInformersOfFactoriesAreSupported: those that generated factories hand out.
func TestTypedInformersOfFactoriesAreSupported(t *testing.T) {
	informers.InBubble(t, func(e *informers.Exact) {
		pods := generatedPods(e.Source)
		go pods.Informer().RunWithContext(e.Context())
		require.NoError(e, kinformer.WaitForSync(e.Context(), pods.Informer()))
		typed := coreinformers.ToTypedPodInformer(pods).TypedInformer()
		assertKnown(e, map[string]inspect.Syncer{"typed": typed, "typed again": coreinformers.ToPodIndexInformer(pods.Informer())})
		assertSnapshot(e, typed.GetTypedIndexer())
	})
}
