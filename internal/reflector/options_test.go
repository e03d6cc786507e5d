// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

// TestDescribeType: the default type description, and the required kind of unstructured objects.
func TestDescribeType(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Kind"}
	for name, tc := range map[string]struct {
		example any
		want    string
		gvk     *schema.GroupVersionKind
	}{
		"none":          {nil, "<unspecified>", nil},
		"Go type":       {&v1.Pod{}, "*v1.Pod", nil},
		"kind":          {untyped("g/v1", "Kind", "", ""), gvk.String(), &gvk},
		"without kind":  {&unstructured.Unstructured{}, "*unstructured.Unstructured", nil},
		"nil pointer":   {(*unstructured.Unstructured)(nil), "*unstructured.Unstructured", nil},
		"no pointer":    {v1.Pod{}, "v1.Pod", nil},
		"anything else": {1, "int", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{ListerWatcher: &clientgo.ListWatch{}, Sink: Foreign(&testkit.StoreLog{}), ExpectedType: tc.example})
			assert.Equal(t, tc.want, r.state.reader.options.Journal.Name())
			assert.Equal(t, tc.gvk, r.state.reader.expects.gvk)
		})
	}
	r := New(Options{ListerWatcher: &clientgo.ListWatch{}, Sink: Foreign(&testkit.StoreLog{}), TypeDescription: "given"})
	assert.Equal(t, "given", r.state.reader.options.Journal.Name())
}

// TestDefaultBackoff: the default delays start between 0.8 and 1.6 s, end between 30 and 60 s, and
// start again after two minutes without a delay.
func TestDefaultBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{ListerWatcher: &clientgo.ListWatch{}, Sink: Foreign(&testkit.StoreLog{})})
		within := func(least, most time.Duration, got time.Duration) {
			t.Helper()
			assert.GreaterOrEqual(t, got, least)
			assert.LessOrEqual(t, got, most)
		}
		within(800*time.Millisecond, 1600*time.Millisecond, r.state.reader.options.Delay())
		within(1600*time.Millisecond, 3200*time.Millisecond, r.state.reader.options.Delay())
		for range 50 {
			r.state.reader.options.Delay()
		}
		within(30*time.Second, 60*time.Second, r.state.reader.options.Delay())
		time.Sleep(2*time.Minute + time.Second)
		within(800*time.Millisecond, 1600*time.Millisecond, r.state.reader.options.Delay())
	})
}

// TestIsOwn: default names skip the root package and its engines, wherever the module is, and no
// other package.
func TestIsOwn(t *testing.T) {
	const module, file = "github.com/kinformer/cache", "/x/y.go"
	for function, want := range map[string]bool{
		module + ".New":                                 true,
		module + ".(*controller).start":                 true,
		module + "/internal/reflector.New":              true,
		module + "/internal/reflector.request[...]":     true,
		module + "_test.TestX":                          false,
		module + "/factory.New":                         false,
		module + "/cachetest.Of":                        false,
		"example.com/internal/reflector.New":            false,
		"example.com/vendored/" + module + ".New":       false,
		"k8s.io/client-go/tools/cache.NewReflector":     false,
		"github.com/kinformer/cachelike/internal/x.New": false,
	} {
		assert.Equal(t, want, isOwn(function, file), function)
	}
	assert.False(t, isOwn(module+".TestX", "/x/y_test.go"))
}
