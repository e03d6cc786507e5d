// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestAheadReadsAll: what is read ahead is what the body has, or, if that fails, the beginning of
// it, with the error.
func TestAheadReadsAll(t *testing.T) {
	broken := errors.New("broken")
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Repeat([]byte("0123456789abcdef"), rapid.IntRange(0, 40000).Draw(t, "size"))
		fails := rapid.SampledFrom([]error{nil, broken}).Draw(t, "fails")
		end := io.Reader(bytes.NewReader(nil))
		if fails != nil {
			end = iotest.ErrReader(fails)
		}
		limited := rapid.SampledFrom([]time.Duration{0, longList}).Draw(t, "limited")
		a := readAhead(io.MultiReader(cut(t, data), end), rapid.Int64Range(1, 300000).Draw(t, "limit"), limited)
		defer a.close()
		got, err := io.ReadAll(a)
		assert.Equal(t, fails, err)
		assert.Equal(t, fails, a.failed())
		assert.True(t, bytes.HasPrefix(data, got))
		assert.True(t, fails != nil || len(data) == len(got))
	})
}

// TestAheadIsBounded: no more waits than the limit, and one read.
func TestAheadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		a := readAhead(reads(func(p []byte) (int, error) { taken += len(p); return len(p), nil }), 1<<20, longList)
		synctest.Wait()
		assert.Greater(t, taken, 1<<20-1)
		assert.LessOrEqual(t, taken, 1<<20+lastChunk)
		_, _ = io.CopyN(io.Discard, a, 1<<20)
		synctest.Wait()
		assert.Greater(t, taken, 2<<20-1)
		assert.LessOrEqual(t, taken, 2<<20+lastChunk)
		a.close()
		_, err := a.Read(make([]byte, 1))
		assert.Equal(t, errClosed, err)
	})
}

type reads func([]byte) (int, error)

func (f reads) Read(p []byte) (int, error) { return f(p) }

// parcels is a body of pieces that come one after the other, each after a while.
type parcels struct {
	every time.Duration
	left  int
}

func (p *parcels) Read(into []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(p.every)
	n := min(len(into), p.left, 1000)
	p.left -= n
	return n, nil
}

// TestAheadLetsTheBodyComeFirst: what arrives without a long pause is not read before its end, or
// before the limit was reached.
func TestAheadLetsTheBodyComeFirst(t *testing.T) {
	for _, c := range []struct {
		what  string
		every time.Duration
		limit int64
		taken int64 // when the first bytes are read
	}{
		{"all at once", 0, 1 << 20, 100_000},
		{"without a pause", longPause - 1, 1 << 20, 100_000},
		{"slowly", longPause + 1, 1 << 20, 1000},
		{"more than the limit", longPause - 1, 10_000, 10_000},
		{"as much as the limit", 0, 100_000, 100_000},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := readAhead(&parcels{every: c.every, left: 100_000}, c.limit, longList)
			n, err := a.Read(make([]byte, 10))
			assert.NoError(t, err, c.what)
			if c.every > 0 {
				assert.InDelta(t, c.taken, a.read(), 1000, c.what)
			} else {
				assert.Equal(t, c.taken, a.read(), c.what)
			}
			rest, err := io.ReadAll(a)
			assert.NoError(t, err, c.what)
			assert.Equal(t, 100_000, n+len(rest), c.what)
		})
	}
}

// TestAheadDoesNotWaitTwice: a body that does not fit is read while it comes, once that is known.
func TestAheadDoesNotWaitTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := readAhead(&parcels{every: longPause - 1, left: 100_000}, 10_000, longList)
		for got := 0; got < 100_000; {
			n, err := a.Read(make([]byte, 4000))
			got += n
			if assert.NoError(t, err); got > 10_000 {
				assert.LessOrEqual(t, a.read(), int64(got+1000))
			}
		}
		_, err := a.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err)
	})
}
