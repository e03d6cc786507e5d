// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package outside

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadingOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	p := Process{PID: os.Getpid()}
	before, err := p.Read()
	require.NoError(t, err)
	assert.Greater(t, before.RSS, uint64(1<<20))
	after := before
	for held := make([]byte, 64<<20); after.CPU < before.CPU+3*tick; { // works until that is seen
		for i := range held {
			held[i]++
		}
		after, err = p.Read()
		require.NoError(t, err)
		assert.Greater(t, after.RSS, uint64(64<<20))
	}
	peak, err := p.Peak()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, peak, uint64(64<<20))
	require.NoError(t, p.Forget())
	_, err = Process{PID: -1}.Read()
	assert.Error(t, err)
}

func TestWhatTheSystemTells(t *testing.T) {
	cpu, err := cpuOf("12 (a ) name) S 1 12 12 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 1 2 3")
	require.NoError(t, err)
	assert.Equal(t, 1750*time.Millisecond, cpu)
	rss, err := rssOf("100 7 3 1 0 5 0\n")
	require.NoError(t, err)
	assert.Equal(t, uint64(7*os.Getpagesize()), rss)
	before, err := timeOf("cpu  100 10 20 300 5 0 5 10 7 0\ncpu0 1 2 3\n")
	require.NoError(t, err)
	assert.Equal(t, Time{All: 450, Stolen: 10}, before)
	assert.InDelta(t, 0.1, Time{All: 550, Stolen: 20}.StolenSince(before), 1e-9)
	assert.Zero(t, before.StolenSince(before))
	for _, unknown := range []string{"", "12 (x) S 1", "cpu 1 2 x 4 5 6 7 8"} {
		_, err := cpuOf(unknown)
		assert.Error(t, err)
		_, err = rssOf("")
		assert.Error(t, err)
		_, err = timeOf(unknown)
		assert.Error(t, err)
	}
}

// TestCollections: lines of the runtime are counted, wherever they are cut, and others passed on.
func TestCollections(t *testing.T) {
	var rest bytes.Buffer
	c := NewCollector(&rest)
	for _, text := range []string{
		"gc 1 @0.011s 3%: 0.018+1.5+0.1 ms clock, 0.2+0.35/1.2/3.0+0.25 ms cpu, 4->4->3 MB, 4 MB goal\nan er", "ror\ngc 2 @0.0",
		"2s 1%: 0.018+1.3+0.076 ms clock, 1+0/0/0+0 ms cpu, 4->4->3 MB, 4 MB goal (forced)\ngc is not this\n", "cut off",
	} {
		n, err := c.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	assert.Equal(t, 2, c.Collections().Count)
	assert.Equal(t, 3*time.Millisecond, c.Collections().CPU.Round(time.Microsecond))
	assert.Equal(t, "an error\ngc is not this\n", rest.String())
}
