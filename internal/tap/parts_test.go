// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
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
		b.giveBack()
		_, err := b.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err, "the end, whoever comes first")
		b.release(nil, nil)
		_, err = b.Read(make([]byte, 1))
		assert.Equal(t, http.ErrBodyReadAfterClose, err)
	})
}

type closes struct{ n int }

func (c *closes) Read([]byte) (int, error) { return 0, io.EOF }

func (c *closes) Close() error { c.n++; return nil }
