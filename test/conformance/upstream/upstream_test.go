// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// The imports without a name are used by client-go's own tests only. They pin the packages in go.mod, from which
// the module that runs those tests takes its requirements.
import (
	"fmt"
	"go/ast"
	"go/types"
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

func parsed(t *testing.T, src string) file {
	t.Helper()
	f, err := parseFile("a_test.go", []byte(src))
	require.NoError(t, err)
	return f
}

func TestRewriting(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"a test inside": {"// Licence.\npackage p\n\nimport \"testing\"\n", "// Licence.\npackage p; import . \"ours/p\"\n\nimport \"testing\"\n"},
		"one outside": {"package p_test\n\nimport name \"k8s.io/client-go/tools/cache/testing\"\n",
			"package p_test\n\nimport name \"github.com/kinformer/cache/testing\"\n"},
		"assertions": {"package p\n\nfunc f() { _ = x.(*threadSafeMap); _ = x.(*shown); _ = x.(threadSafeMap) }\n",
			"package p; import . \"ours/p\"\n\nfunc f() { _ = x.(ThreadSafeStoreWithTransaction); _ = x.(*shown); _ = x.(threadSafeMap) }\n"},
		"leaks": {"package p\n\nfunc TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n",
			"package p; import . \"ours/p\"\n\nfunc TestMain(m *testing.M) { goleak.VerifyTestMain(m" + leftBehind + ") }\n"},
		"the rig": {"package p\n\nfunc makes() *Reflector { r := &Reflector{Reflector: 1}; r.Reflector(); return NewReflector(r) }\nfunc handler(r *Reflector) {}\n",
			"package p; import . \"ours/p\"\n\nfunc makes() *rig { r := &rig{Reflector: 1}; r.Reflector(); return newRig(r) }\nfunc handler(r *Reflector) {}\n"},
	} {
		files, err := rewriteAll([]file{parsed(t, c.src)}, "ours/p")
		require.NoError(t, err)
		assert.Equal(t, c.want, string(files[0].src), name)
	}
}

// world imports packages from source.
type world map[string]string

func (w world) Import(path string) (*types.Package, error) {
	src, ok := w[path]
	if !ok {
		return nil, fmt.Errorf("there is no package %s", path)
	}
	f, err := parseFile(path+".go", []byte(src))
	if err != nil {
		return nil, err
	}
	return (&types.Config{}).Check(path, f.fset, []*ast.File{f.tree}, nil)
}

var outside = world{
	"testing": "package testing; type T struct{}; type M struct{}",
	"lib":     "package lib; type Store interface{ Len() int }; type hidden struct{ inner int }; func New() Store { return nil }",
}

func TestPruning(t *testing.T) {
	const head = "package p; import . \"lib\"\nimport \"testing\"\n"
	for name, c := range map[string]struct {
		body        string
		kept, drops []string
	}{
		"exported names": {"func TestA(t *testing.T) { New().Len() }", []string{"TestA"}, nil},
		"helpers": {"func f() { _ = hidden{} }\nfunc g() { f() }\nfunc TestA(t *testing.T) { g() }\nfunc TestB(t *testing.T) {}",
			[]string{"TestB"}, []string{"f undefined: hidden", "g undefined: f", "TestA undefined: g"}},
		"methods": {"type fake struct{ h *hidden }\nfunc (f *fake) Len() int { return 0 }\nfunc TestA(t *testing.T) {}",
			[]string{"TestA"}, []string{"fake undefined: hidden", "fake.Len undefined: fake"}},
		"constants": {"const (\n\ta = iota\n\tb = lost\n\tc\n)\nfunc TestA(t *testing.T) { _ = c }\nfunc TestB(t *testing.T) {}",
			[]string{"TestB"}, []string{"a undefined: lost", "TestA undefined: c"}},
		"shims": {"func peek() int { return lost }\nfunc TestA(t *testing.T) { _ = peek() }", []string{"TestA"}, nil},
		"what go test runs": {"func Test_a(t *testing.T) {}\nfunc Testing(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\nfunc TestTwo(t *testing.T, n int) {}",
			[]string{"Test_a"}, nil},
	} {
		src := head + c.body
		shim, err := parseFile("shims_test.go", []byte("package p\nfunc peek() int { return 1 }\n"))
		require.NoError(t, err)
		files, drops, err := prune([]file{parsed(t, src)}, []file{shim}, outside)
		require.NoError(t, err, name)
		var told []string
		for _, d := range drops {
			told = append(told, d.name+" "+d.why)
		}
		if c.kept == nil {
			c.kept = []string{}
		}
		assert.Equal(t, c.kept, testsIn(files), name)
		assert.Equal(t, c.drops, told, name)
		assert.Equal(t, strings.Count(src, "\n"), strings.Count(string(files[0].src), "\n"), "%s: lines are in their places", name)
	}
	_, _, err := prune(nil, []file{parsed(t, "package p\nfunc peek() int { return lost }\n")}, outside)
	assert.ErrorContains(t, err, "outside of every declaration", "a shim is never taken out")
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
