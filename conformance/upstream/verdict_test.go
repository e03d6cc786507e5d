// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestVerdict: whatever has not passed is a fault, and so is a process that fails without a test.
func TestVerdict(t *testing.T) {
	const passed = "=== RUN   TestA\n    --- FAIL: TestA/sub (0.00s)\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\n"
	for output, c := range map[string]struct {
		err    error
		faults []string
	}{
		passed: {nil, nil},
		"--- FAIL: TestA (0.10s)\n--- PASS: TestB (0.00s)\nFAIL\n":   {errors.New("exit status 1"), []string{"TestA failed"}},
		"=== RUN   TestA\n--- PASS: TestB (0.00s)\npanic: crashed\n": {errors.New("exit status 2"), []string{"TestA did not end"}},
		passed + "found unexpected goroutines\n":                     {errors.New("exit status 1"), []string{"the run failed after its tests had passed: exit status 1"}},
	} {
		v := &verdict{suite: &Suite{}}
		v.judge([]string{"TestA", "TestB"}, output, c.err)
		assert.Equal(t, c.faults, v.faults, output)
	}
	v := &verdict{suite: &Suite{Tests: []string{"TestA"}, Floor: 2}}
	v.checkFloor()
	assert.Len(t, v.faults, 1)
}
