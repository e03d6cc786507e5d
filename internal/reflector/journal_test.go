// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/cache/internal/tap"
)

// TestReceivingIsNotThrottling: a byte of a list that arrives after Status has read the clock does not mean that the
// server asks to wait.
func TestReceivingIsNotThrottling(t *testing.T) {
	j, before := NewJournal(), time.Now().Add(-time.Minute)
	j.write(func(p *journalState) {
		p.clock, p.asked, p.askedAt = clocktesting.NewFakeClock(before), KindList, before
	})
	j.decoding.Receives(nil)
	assert.Zero(t, j.Status().Throttled)

	until := before.Add(time.Second)
	j.decoding.Refuses(tap.Refusal{At: before, Until: until})
	assert.Equal(t, until, j.Status().Throttled)
	j.write(func(p *journalState) { p.asked = "" })
	assert.Zero(t, j.Status().Throttled, "no request is pending")
}
