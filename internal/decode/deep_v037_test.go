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

// bytesField encodes a field of type bytes.
func bytesField(number uint64, data []byte) []byte {
	field := binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|scan.WireBytes), uint64(len(data)))
	return append(field, data...)
}

// TestTrapsOfDeepMessages checks that messages beyond the limit of depth are given up.
func TestTrapsOfDeepMessages(t *testing.T) {
	for depth, decoded := range map[int]bool{1: true, scan.Deepest: true, scan.Deepest + 1: false} {
		var data []byte
		for range depth - 1 {
			data = bytesField(9, data)
		}
		assert.Equal(t, decoded, sameProtobuf(t, reflect.TypeFor[schedulingv1beta1.CompositePodGroupTemplate](), data, Options{}), depth)
	}
}

// TestDepthOfMessages checks that messages with shared parts are subject to the limit of depth, in
// any order.
func TestDepthOfMessages(t *testing.T) {
	table := NewParts(8 << 20)
	plan, o := planOf(t, reflect.TypeFor[schedulingv1beta1.CompositePodGroupTemplate]()), Options{Share: NewSharing(table)}
	var data []byte
	for depth := 1; depth < 3*scan.Deepest; depth++ {
		for range 3 {
			err := plan.Protobuf(data, new(schedulingv1beta1.CompositePodGroupTemplate), o)
			require.Equal(t, depth <= scan.Deepest, err == nil, "%d: %v", depth, err)
		}
		data = bytesField(9, data)
	}
	assert.NotZero(t, table.Status().Hits)
}
