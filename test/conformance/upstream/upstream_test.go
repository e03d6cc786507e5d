// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// The imports without a name are used by client-go's own tests only. They pin the packages in go.mod, from which
// the module that runs those tests takes its requirements.
import (
	"io"
	"strings"
	"testing"

	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "go.uber.org/goleak"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/client-go/features/testing"
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/klog/v2/ktesting"
	_ "k8s.io/klog/v2/textlogger"
	_ "k8s.io/utils/clock/testing"
	_ "sigs.k8s.io/randfill"

	"github.com/kinformer/cache/internal/testkit"
)

// TestSmallPackages runs the tests of a small package, and checks that a missing test is detected.
func TestSmallPackages(t *testing.T) {
	testkit.AtNight(t) // compiles and runs client-go's tests
	all := suites
	t.Cleanup(func() { suites = all })
	var out strings.Builder
	suites = []suite{{path: "tools/cache/synctrack", floor: 10}}
	require.NoError(t, run(t.Context(), "", "", &out))
	assert.Contains(t, out.String(), "10 of 10 tests kept")
	assert.Contains(t, out.String(), "passed 10, skipped 0, failed 0")
	suites[0].floor = 11
	assert.ErrorContains(t, run(t.Context(), "", "", io.Discard), "only 10 tests were kept where 11 can be")
}

func TestOutcomes(t *testing.T) {
	ended, text := outcomes([]byte(`{"Action":"run","Test":"TestA"}
{"Action":"fail","Test":"TestA/sub"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"said\n"}
{"Action":"pass"}
panic
`))
	assert.Equal(t, []string{"TestA"}, ended["pass"])
	assert.Empty(t, ended["fail"])
	assert.Equal(t, "said\npanic\n", text)
}
