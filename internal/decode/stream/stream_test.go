// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestLongFramesGiveBack checks that the memory of a long frame is released.
func TestLongFramesGiveBack(t *testing.T) {
	long := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + "\"}\n")
	f := NewFrames(bytes.NewReader(append(long, "{}\n{}\n"...)), JSON, 8<<20)
	for _, want := range []string{string(long), "{}\n", "{}\n"} {
		frame, err := f.Next()
		require.NoError(t, err)
		require.Equal(t, want, string(frame))
	}
	assert.LessOrEqual(t, len(f.buf), firstBuffer)
}

// TestListProtobufMemory checks that a list of many items is held one item at a time.
func TestListProtobufMemory(t *testing.T) {
	list := &corev1.PodList{}
	for i := range 300 {
		name := fmt.Sprint(i, strings.Repeat("x", 8<<10))
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	raw, err := list.Marshal()
	require.NoError(t, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: raw}
	body, err := unknown.Marshal()
	require.NoError(t, err)
	reader := NewList(bytes.NewReader(append([]byte(envelopeMark), body...)), Protobuf, 1<<20).(*protobufList)
	items := 0
	for _, err := reader.Next(); err != io.EOF; _, err = reader.Next() {
		require.NoError(t, err)
		require.LessOrEqual(t, cap(reader.w.buf), 2*firstWindow)
		items++
	}
	require.Equal(t, len(list.Items), items)
	require.Less(t, len(reader.With(nil)), 100)
}
