// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestKillSwitch checks which values of the kill switch turn taps off, and that each of its two lines is
// logged once.
func TestKillSwitch(t *testing.T) {
	const (
		off     = `"The environment turns direct decoding off: clients decode" "variable"="KINFORMER_DIRECT" "value"="`
		unknown = `"A variable of the environment has an unknown value, and turns nothing off" "severity"="warning" ` +
			`"variable"="KINFORMER_DIRECT" "value"="`
	)
	for _, c := range []struct {
		values []string
		off    bool
		logged string
	}{
		{values: []string{"off", "OFF", "Off", "false", "False", "FALSE", "0", "no", "No", "NO"}, off: true, logged: off},
		{values: []string{"", "on", "ON", "true", "True", "TRUE", "1", "yes", "Yes", "YES"}},
		{values: []string{"of", "off ", "disabled", "f", "n", "00", "2", "-"}, logged: unknown},
	} {
		for _, value := range c.values {
			t.Run(value, func(t *testing.T) {
				logged := testkit.CaptureLog(t)
				isOff := tap.NewKillSwitch()
				assert.Equal(t, c.off, isOff(value))
				assert.Equal(t, c.off, isOff(value))
				assert.Equal(t, c.logged == off, logged.Count(off+value+`"`) == 1)
				assert.Equal(t, c.logged == unknown, logged.Count(unknown+value+`" "off"="off, false, 0, no" "on"="on, true, 1, yes"`) == 1)
				assert.Equal(t, map[bool]int{true: 1}[c.logged != ""], logged.Count("KINFORMER_DIRECT"))
			})
		}
	}
}
