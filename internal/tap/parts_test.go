// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pieces reads as its pieces say.
type pieces struct{ left [][]byte }

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[0])
	if p.left[0] = p.left[0][n:]; len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	return n, nil
}

// cut draws how bytes arrive.
func cut(t *rapid.T, data []byte) *pieces {
	p := &pieces{}
	for len(data) > 0 {
		n := rapid.IntRange(1, len(data)).Draw(t, "piece")
		p.left = append(p.left, data[:n])
		data = data[n:]
	}
	return p
}

// TestFramesCutAnywhere: frames are the same however the bytes arrive, none is lost, and none
// changes while it is in use.
func TestFramesCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent [][]byte
		var stream []byte
		protobuf := rapid.Bool().Draw(t, "protobuf")
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 40000), 0, 6).Draw(t, "sizes") {
			frame := []byte(`{"a":"` + strings.Repeat("{", size) + "\"}\n")
			if protobuf {
				frame = append([]byte{0, 0, byte(size >> 8), byte(size)}, make([]byte, size&0xffff)...)
			}
			sent = append(sent, frame)
			stream = append(stream, frame...)
		}
		encoding := JSON
		if protobuf {
			encoding = Protobuf
		}
		f := newFrames(cut(t, stream), encoding)
		var got [][]byte
		for {
			frame, err := f.next()
			if err != nil {
				assert.Equal(t, io.EOF, err)
				break
			}
			if !f.blank(frame) { // a line end that came behind its value
				got = append(got, bytes.Clone(frame))
			}
		}
		rest, err := f.rest()
		require.Equal(t, len(sent), len(got))
		for i := range sent {
			require.Equal(t, bytes.TrimSpace(sent[i]), bytes.TrimSpace(got[i]))
			require.True(t, f.whole(got[i]))
		}
		assert.Empty(t, rest)
		assert.Equal(t, io.EOF, err)
	})
}

// TestNestingAgrees: where a value ends for us it ends for the standard library.
func TestNestingAgrees(t *testing.T) {
	values := rapid.SampledFrom([]string{`{}`, `[]`, `{"a":"}"}`, `{"\"}":[{},"\\"]}`, `[[1,2],{"b":null}]`})
	rapid.Check(t, func(t *rapid.T) {
		first := values.Draw(t, "first")
		data := []byte(first + values.Draw(t, "second"))
		at := rapid.IntRange(0, len(first)-1).Draw(t, "cut")
		var n nesting
		require.Zero(t, n.end(data[:at]))
		end := at + n.end(data[at:])
		assert.Equal(t, first, string(data[:end]))
		assert.True(t, json.Valid(data[:end]))
	})
}

// TestLongFramesGiveBack: memory that a long frame has needed is given back.
func TestLongFramesGiveBack(t *testing.T) {
	long := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + "\"}\n")
	f := newFrames(bytes.NewReader(append(long, "{}\n{}\n"...)), JSON)
	for _, want := range []string{string(long), "{}\n", "{}\n"} {
		frame, err := f.next()
		require.NoError(t, err)
		require.Equal(t, want, string(frame))
	}
	assert.LessOrEqual(t, len(f.buf), firstBuffer)
}

// TestTooLong: a frame of more than the limit is none, and all that was read of it is left.
func TestTooLong(t *testing.T) {
	line := []byte("[\"" + strings.Repeat("x", maxFrame-5) + "\"]\n")
	require.Len(t, line, maxFrame)
	for _, one := range []bool{false, true} {
		body := io.Reader(bytes.NewReader(append(line, "x{}\n"...)))
		if one {
			body = bytes.NewReader(append([]byte("xx"), line...))
		}
		f := newFrames(body, JSON)
		frame, err := f.next()
		if one {
			require.Equal(t, errTooLong, err)
			left, _ := f.rest()
			require.Equal(t, "xx", string(left[:2]))
			continue
		}
		require.NoError(t, err)
		require.Len(t, frame, maxFrame)
	}
	f := newFrames(bytes.NewReader([]byte{0, 0x80, 0, 1, 0}), Protobuf)
	_, err := f.next()
	require.Equal(t, errTooLong, err)
	left, _ := f.rest()
	require.Equal(t, []byte{0, 0x80, 0, 1, 0}, left)
}

// TestHeldWaits: a held body is silent, brings what it is handed, and after its release everything.
func TestHeldWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newHeld(io.NopCloser(strings.NewReader(" real")))
		got := make(chan string)
		go func() {
			for p := make([]byte, 4); ; {
				n, err := b.Read(p)
				if err != nil {
					got <- err.Error()
					return
				}
				got <- string(p[:n])
			}
		}()
		require.True(t, b.claim())
		time.Sleep(time.Hour)
		select {
		case early := <-got:
			t.Fatalf("a claimed body brought %q", early)
		default:
		}
		b.hand([]byte("handed"))
		assert.Equal(t, "hand", <-got)
		assert.Equal(t, "ed", <-got)
		<-b.starved
		b.takeBack()
		b.release([]byte("rest"), nil)
		assert.Equal(t, "rest", <-got)
		assert.Equal(t, " rea", <-got)
		assert.Equal(t, "l", <-got)
		assert.Equal(t, "EOF", <-got)
	})
}

// TestHeldPatience: a body that is read while nobody claims it is given back after a while, and
// cannot be claimed any more; one that is not read waits.
func TestHeldPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, unread := newHeld(io.NopCloser(strings.NewReader("real"))), newHeld(http.NoBody)
		began := time.Now()
		got, err := io.ReadAll(read)
		require.NoError(t, err)
		assert.Equal(t, "real", string(got))
		assert.Equal(t, patience, time.Since(began))
		assert.False(t, read.claim())
		time.Sleep(time.Hour)
		assert.True(t, unread.claim())
	})
}

// TestHeldClose: a Close ends a Read that waits, closes the real body, and leaves no timer.
func TestHeldClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real := &closes{}
		b := newHeld(real)
		done := make(chan error)
		go func() {
			_, err := b.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, b.Close())
		assert.Equal(t, io.EOF, <-done)
		assert.Equal(t, 1, real.n)
		b.release(nil, nil)
		_, err := b.Read(make([]byte, 1))
		assert.Equal(t, http.ErrBodyReadAfterClose, err)
	})
}

type closes struct{ n int }

func (c *closes) Read([]byte) (int, error) { return 0, io.EOF }

func (c *closes) Close() error { c.n++; return nil }
