// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/bench/internal/workload"
)

func TestAnswersDecodeToWhatWasEncoded(t *testing.T) {
	population, err := workload.New(t.Context(), workload.Config{N: 3, Seed: 1})
	require.NoError(t, err)
	for _, mediaType := range []string{JSON, Protobuf} {
		t.Run(mediaType, func(t *testing.T) {
			answers, err := Encode(population, mediaType)
			require.NoError(t, err)
			listed, err := DecodeList(answers.List, mediaType)
			require.NoError(t, err)
			require.Len(t, listed, 3)
			assert.Equal(t, population.Pods[2].UID, listed[2].(*corev1.Pod).UID)

			streamed, err := DecodeStream(answers.Initial, mediaType)
			require.NoError(t, err)
			require.Len(t, streamed, 4)
			assert.Equal(t, population.Pods[0].Spec, streamed[0].(*corev1.Pod).Spec)
			assert.Equal(t, "true", streamed[3].(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey])

			updated, err := DecodeStream(answers.Updates, mediaType)
			require.NoError(t, err)
			require.Len(t, updated, 3)
			assert.Equal(t, version(3), updated[2].(*corev1.Pod).ResourceVersion)

			_, err = DecodeStream(answers.Updates[:len(answers.Updates)-5], mediaType)
			assert.Error(t, err, "a stream that ends in the middle of a frame")
		})
	}
	_, err = Encode(population, "text/plain")
	assert.Error(t, err)
}

func TestServeAnswersAndEndsWithItsInput(t *testing.T) {
	in, lifeline := io.Pipe()
	out, told := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(Config{N: 2, Seed: 1, MediaType: JSON}, in, told) }()
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s := &Server{URL: "http://" + strings.TrimSpace(address)}

	list, err := s.Bytes(t.Context(), "list")
	require.NoError(t, err)
	items, err := DecodeList(list, JSON)
	require.NoError(t, err)
	assert.Len(t, items, 2)

	response, err := http.Get(s.URL + "/api/v1/pods?watch=true")
	require.NoError(t, err)
	require.NoError(t, s.Feed(t.Context()))
	updates, err := s.Bytes(t.Context(), "updates")
	require.NoError(t, err)
	got := make([]byte, len(updates))
	_, err = io.ReadFull(response.Body, got)
	require.NoError(t, err)
	assert.Equal(t, updates, got)
	require.NoError(t, response.Body.Close())

	_, err = s.Bytes(t.Context(), "nothing")
	assert.ErrorContains(t, err, "404")
	require.NoError(t, lifeline.Close())
	assert.NoError(t, <-ended)
}
