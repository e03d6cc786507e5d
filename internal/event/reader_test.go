// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"pgregory.net/rapid"
)

// TestLaterVersionIsTheGreaterOfTwoNumbers: of versions that are no numbers, it is the one seen
// last.
func TestLaterVersionIsTheGreaterOfTwoNumbers(t *testing.T) {
	version := rapid.OneOf(
		rapid.SampledFrom([]string{"", "0", "00", "1", "9", "01", "10", "99", "1a", "a1", "-1", "+1", " 1", "1 ", "٣", "\xff", "18446744073709551616"}),
		rapid.StringMatching(`[0-9]{0,4}`), rapid.StringMatching(`[1-9][0-9]{17,22}`), rapid.StringMatching(`[0-9a:/ ]{0,3}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		held, seen := version.Draw(t, "held"), version.Draw(t, "seen")
		want := seen
		if order, err := resourceversion.CompareResourceVersion(held, seen); err == nil && order > 0 {
			want = held
		}
		assert.Equal(t, want, LaterVersion(held, seen))
	})
}
