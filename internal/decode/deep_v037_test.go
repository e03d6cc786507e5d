// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/kinformer/cache/internal/decode/scan"
)

// TestDepthOfMessages checks that messages beyond the limit of depth are given up, also if they have
// shared parts.
func TestDepthOfMessages(t *testing.T) {
	hits := partsOfTests.Status().Hits
	var data []byte
	for depth := 1; depth < 3*scan.Deepest; depth++ {
		decoded := inProtobuf.same(t, reflect.TypeFor[schedulingv1beta1.CompositePodGroupTemplate](), data, Options{})
		require.Equal(t, depth <= scan.Deepest, decoded, depth)
		field := binary.AppendUvarint(binary.AppendUvarint(nil, 9<<3|scan.WireBytes), uint64(len(data)))
		data = append(field, data...)
	}
	assert.Greater(t, partsOfTests.Status().Hits, hits)
}
