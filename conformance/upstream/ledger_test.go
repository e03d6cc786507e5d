// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/conformance/internal/testrun"
)

func TestLedgerReadsItsLines(t *testing.T) {
	l, err := ParseLedger(`
# a comment
tools/cache alias TestA fails  the reason of A

tools/cache rig   TestA skip   takes others with it
`)
	require.NoError(t, err)
	assert.Equal(t, Ledger{
		{Package: "tools/cache", Mode: Alias, Test: "TestA", Reason: "the reason of A"},
		{Package: "tools/cache", Mode: Rig, Test: "TestA", Skip: true, Reason: "takes others with it"},
	}, l)
}

func TestLedgerRefuses(t *testing.T) {
	for why, text := range map[string]string{
		"an entry without a reason": "tools/cache alias TestA fails",
		"an unknown verdict":        "tools/cache alias TestA flaky sometimes",
		"an unknown package":        "tools/other alias TestA fails for a reason",
		"a mode that is not run":    "tools/cache/testing rig TestA fails for a reason",
		"the same test twice":       "tools/cache alias TestA fails x\ntools/cache alias TestA skip y",
	} {
		t.Run(why, func(t *testing.T) {
			_, err := ParseLedger(text)
			require.ErrorContains(t, err, "line ")
		})
	}
}

func TestTheLedgerThatIsShippedReads(t *testing.T) {
	_, err := ParseLedger(expectedFailures)
	require.NoError(t, err)
}

// judge lets a verdict see the results of tests, and of the listed ones, without running anything.
func judge(t *testing.T, suite *Suite, ledger string, results map[string]testrun.Status) *verdict {
	t.Helper()
	l, err := ParseLedger(ledger)
	require.NoError(t, err)
	v := &verdict{suite: suite, ledger: l}
	outcome := testrun.Outcome{Results: map[string]testrun.Result{}}
	for name, status := range results {
		outcome.Results[name] = testrun.Result{Status: status, Reason: "failed", Output: "said by " + name}
	}
	open, listed := v.divide(nil)
	v.takeOpen(open, outcome)
	for _, name := range listed {
		v.takeListed(name, outcome)
	}
	v.checkList()
	return v
}

func twoTests() *Suite {
	return &Suite{Package: "tools/cache", Mode: Alias, Tests: []string{"TestA", "TestB"}, Total: 3, Floor: 2}
}

func TestVerdicts(t *testing.T) {
	const listsA = "tools/cache alias TestA fails for a reason"
	const pass, fail = testrun.Passed, testrun.Failed
	for _, c := range []struct {
		why, ledger string
		results     map[string]testrun.Status
		fault       string // empty: all as expected
	}{
		{"all pass", "", map[string]testrun.Status{"TestA": pass, "TestB": pass}, ""},
		{"one fails", "", map[string]testrun.Status{"TestA": fail, "TestB": pass}, "TestA failed"},
		{"a listed one fails", listsA, map[string]testrun.Status{"TestA": fail, "TestB": pass}, ""},
		{"a listed one passes", listsA, map[string]testrun.Status{"TestA": pass, "TestB": pass}, "TestA passes but is listed"},
		{"one is listed for another mode", strings.Replace(listsA, "alias", "rig", 1), map[string]testrun.Status{"TestA": fail, "TestB": pass}, "TestA failed"},
		{"one is not run", strings.Replace(listsA, "fails", "skip", 1), map[string]testrun.Status{"TestB": pass}, ""},
		{"a listed one is gone", strings.Replace(listsA, "TestA", "TestC", 1), map[string]testrun.Status{"TestA": pass, "TestB": pass}, "TestC is listed"},
	} {
		t.Run(c.why, func(t *testing.T) {
			v := judge(t, twoTests(), c.ledger, c.results)
			assert.Equal(t, c.fault == "", v.asExpected())
			assert.Contains(t, strings.Join(v.faults, "\n"), c.fault)
		})
	}
}

func TestTooFewKeptIsAFault(t *testing.T) {
	s := twoTests()
	s.Floor = 3
	v := judge(t, s, "", map[string]testrun.Status{"TestA": testrun.Passed, "TestB": testrun.Passed})
	assert.False(t, v.asExpected())
	assert.Contains(t, v.faults[0], "only 2 tests were kept where 3 can be")
}

func TestAFailureOfThePackageIsAFault(t *testing.T) {
	v := &verdict{suite: twoTests()}
	v.takeOpen(nil, testrun.Outcome{Package: "found a leak"})
	assert.False(t, v.asExpected())
}

func TestTheReportNamesWhatMatters(t *testing.T) {
	ledger := "tools/cache alias TestB fails for a reason"
	v := judge(t, twoTests(), ledger, map[string]testrun.Status{"TestA": testrun.Failed, "TestB": testrun.Failed})
	var out bytes.Buffer
	v.printFailures(&out)
	assert.Contains(t, out.String(), "said by TestA")
	assert.Contains(t, out.String(), "for a reason")
	assert.NotContains(t, out.String(), "said by TestB", "a known failure needs no output")
	assert.Contains(t, v.summary(), "kept 2 of 3, passed 0, failed 1, known to fail 1")
}

func TestLongOutputIsCutInTheMiddle(t *testing.T) {
	lines := make([]string, 0, 500)
	for range 500 {
		lines = append(lines, "line")
	}
	got := indent(strings.Join(lines, "\n"))
	assert.Equal(t, 2*outputLines+1, strings.Count(got, "\n")+1)
	assert.Contains(t, got, "440 lines left out")
}
