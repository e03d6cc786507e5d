// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cut draws how bytes arrive.
func cut(t *rapid.T, data []byte) io.Reader {
	var pieces []io.Reader
	for len(data) > 0 {
		n := rapid.IntRange(1, len(data)).Draw(t, "piece")
		pieces = append(pieces, bytes.NewReader(data[:n]))
		data = data[n:]
	}
	return io.MultiReader(pieces...)
}

// TestFramesCutAnywhere: frames are the same however the bytes arrive, none is lost, and none
// changes while it is in use.
func TestFramesCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent [][]byte
		var stream []byte
		protobuf := rapid.Bool().Draw(t, "protobuf")
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 40000), 0, 6).Draw(t, "sizes") {
			payload := []byte(`{"a":"` + strings.Repeat("{", size) + `"}`)
			sent = append(sent, payload)
			if protobuf {
				stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(payload))), payload...)
			} else {
				stream = append(append(stream, payload...), '\n')
			}
		}
		reader := NewFrames
		if protobuf {
			reader = NewFramesProtobuf
		}
		f := reader(cut(t, stream), 1<<20)
		for _, payload := range sent {
			frame, err := f.Next()
			require.NoError(t, err)
			require.Equal(t, payload, bytes.TrimSpace(f.Payload(frame)))
		}
		_, err := f.Next()
		require.Equal(t, io.EOF, err)
		rest, err := f.Rest()
		assert.Empty(t, rest)
		assert.Equal(t, io.EOF, err)
	})
}

// TestExtentsAgree: where a value ends for us it ends for the standard library.
func TestExtentsAgree(t *testing.T) {
	values := rapid.SampledFrom([]string{`{}`, `[]`, `{"a":"}"}`, `{"\"}":[{},"\\"]}`, `[[1,2],{"b":null}]`})
	rapid.Check(t, func(t *rapid.T) {
		first := values.Draw(t, "first")
		data := []byte(first + values.Draw(t, "second"))
		at := rapid.IntRange(0, len(first)-1).Draw(t, "cut")
		var e extent
		n, done := e.end(data[:at])
		require.Equal(t, at, n)
		require.False(t, done)
		n, done = e.end(data[at:])
		require.True(t, done)
		assert.Equal(t, first, string(data[:at+n]))
		assert.True(t, json.Valid(data[:at+n]))
	})
}

// TestLongFramesGiveBack: memory that a long frame has needed is given back.
func TestLongFramesGiveBack(t *testing.T) {
	long := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + "\"}\n")
	f := NewFrames(bytes.NewReader(append(long, "{}\n{}\n"...)), 8<<20)
	for _, want := range []string{string(long), "{}\n", "{}\n"} {
		frame, err := f.Next()
		require.NoError(t, err)
		require.Equal(t, want, string(frame))
	}
	assert.LessOrEqual(t, len(f.buf), firstBuffer)
}

// TestTooLong: a frame of more than the limit is none, and all that was read of it is left.
func TestTooLong(t *testing.T) {
	const limit = 1 << 20
	line := []byte("[\"" + strings.Repeat("x", limit-5) + "\"]\n")
	require.Len(t, line, limit)
	f := NewFrames(bytes.NewReader(append(bytes.Clone(line), "x{}\n"...)), limit)
	frame, err := f.Next()
	require.NoError(t, err)
	require.Len(t, frame, limit)

	f = NewFrames(bytes.NewReader(append([]byte("xx"), line...)), limit)
	_, err = f.Next()
	require.ErrorIs(t, err, ErrGiveUp)
	left, _ := f.Rest()
	require.Equal(t, "xx", string(left[:2]))

	for _, size := range [][]byte{{0, 0x10, 0, 1}, {0xff, 0xff, 0xff, 0xff}} {
		f = NewFramesProtobuf(bytes.NewReader(append(size, 0)), limit)
		_, err = f.Next()
		require.ErrorIs(t, err, ErrGiveUp)
		left, _ = f.Rest()
		require.Equal(t, append(size, 0), left)
	}
}
