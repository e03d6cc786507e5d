// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/conformance/upstream"
	"github.com/kinformer/cache/internal/testkit"
)

// run runs with the options and returns the report.
func run(t *testing.T, o upstream.Options) (string, error) {
	t.Helper()
	testkit.AtNight(t) // it compiles and runs client-go's tests
	var out bytes.Buffer
	o.Out = &out
	err := upstream.Run(t.Context(), o)
	t.Log(out.String())
	return out.String(), err
}

func TestTheSmallPackagesPassOnBothTargets(t *testing.T) {
	for _, target := range upstream.Targets() {
		t.Run(target.Name, func(t *testing.T) {
			report, err := run(t, upstream.Options{
				Target:   target,
				Packages: []string{"tools/cache/synctrack", "tools/cache/testing"},
			})
			require.NoError(t, err)
			assert.Contains(t, report, "kept 10 of 10, passed 10, failed 0")
			assert.Contains(t, report, "kept 2 of 2, passed 2, failed 0")
		})
	}
}

func TestNoTestIsLostToAMissingName(t *testing.T) {
	report, err := run(t, upstream.Options{DropsOnly: true, Packages: []string{"tools/cache"}})
	require.NoError(t, err)
	assert.Contains(t, report, "tools/cache (alias) against kinformer: 106 of 186 tests kept")
	assert.Contains(t, report, "tools/cache (rig) against kinformer: 21 of 35 tests kept")
	assert.Regexp(t, `dropped TestNameForHandler .* needs nameForHandler`, report)
}

func TestTheGeneratedTreeCanBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	o := upstream.Options{
		Packages: []string{"tools/cache/testing"},
		Filter:   regexp.MustCompile("^TestRCNumber$"),
		Dir:      dir,
	}
	report, err := run(t, o)
	require.NoError(t, err)
	assert.Contains(t, report, "passed 1, failed 0")
	assert.FileExists(t, filepath.Join(dir, "tools/cache/testing/alias/fake_controller_source_test.go"))

	_, err = run(t, o)
	require.ErrorContains(t, err, "not empty")
}

func TestNothingIsLeftBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, err := run(t, upstream.Options{DropsOnly: true, Packages: []string{"tools/cache/testing"}})
	require.NoError(t, err)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAnUnknownTargetIsAnError(t *testing.T) {
	_, err := upstream.TargetNamed("other")
	require.Error(t, err)
}
