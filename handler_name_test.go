// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/testkit"
)

// whatIsAt returns the line of this package's source that a name of the form package/file:line
// stands for.
func whatIsAt(t *testing.T, name string) string {
	file, line, ok := strings.Cut(strings.TrimPrefix(name, "github.com/kinformer/cache/"), ":")
	require.True(t, ok, name)
	number, err := strconv.Atoi(line)
	require.NoError(t, err, name)
	text, err := os.ReadFile(file)
	require.NoError(t, err, name)
	return strings.Split(string(text), "\n")[number-1]
}

func TestFunctionsAreNamedByFileAndLine(t *testing.T) {
	add := func(any) {}                                  // the add function
	update := func(any, any) {}                          // the update function
	typed := func(*corev1.Pod) {}                        // the typed function
	typedAdd := func(p *corev1.Pod, _ bool) { typed(p) } // the detailed function
	for name, handler := range map[string]ResourceEventHandler{
		"add":            ResourceEventHandlerFuncs{AddFunc: add},
		"delete":         &ResourceEventHandlerFuncs{DeleteFunc: add},
		"one file":       ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: update, DeleteFunc: func(any) {}},
		"detailed":       ResourceEventHandlerDetailedFuncs{DeleteFunc: add},
		"filtered":       FilteringResourceEventHandler{FilterFunc: func(any) bool { return true }, Handler: ResourceEventHandlerFuncs{AddFunc: add}},
		"twice filtered": &FilteringResourceEventHandler{Handler: &FilteringResourceEventHandler{Handler: ResourceEventHandlerFuncs{AddFunc: add}}},
		"delivered":      Deliver(ResourceEventHandlerFuncs{AddFunc: add}, Delivery{}),
	} {
		assert.Contains(t, whatIsAt(t, nameForHandler(handler)), "// the add function", name)
	}
	assert.Contains(t, whatIsAt(t, nameForHandler(updateFunc(update))), "// the update function")
	for comment, handler := range map[string]TypedResourceEventHandler[*corev1.Pod]{
		"// the typed function":    TypedResourceEventHandlerFuncs[*corev1.Pod]{DeleteFunc: nil, AddFunc: typed},
		"// the detailed function": &TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{AddFunc: typedAdd},
	} {
		filtered := TypedFilteringResourceEventHandler[*corev1.Pod]{Handler: handler}
		for _, untyped := range []ResourceEventHandler{DeliverTyped(handler, Delivery{}), testkit.AsClientGoAdaptsIt(t, handler), testkit.AsClientGoAdaptsIt(t, filtered)} {
			assert.Contains(t, whatIsAt(t, nameForHandler(untyped)), comment)
		}
	}
}

// updateFunc is a handler that is a function.
type updateFunc func(_, _ any)

func (updateFunc) OnAdd(any, bool) {}

func (f updateFunc) OnUpdate(o, n any) { f(o, n) }

func (updateFunc) OnDelete(any) {}

func (f updateFunc) method(any) {}

func (f updateFunc) otherMethod(any) {}

func (f updateFunc) updateMethod(_, _ any) {}

// TestNamesOfOtherHandlers: the values of methods are in no file, so that the methods are named;
// what is no function has a type.
func TestNamesOfOtherHandlers(t *testing.T) {
	one := func(any) {} // the only function
	receiver, place := updateFunc(nil), nameForHandler(ResourceEventHandlerFuncs{AddFunc: one})
	assert.Contains(t, whatIsAt(t, place), "// the only function")
	for want, handler := range map[string]ResourceEventHandler{
		"github.com/kinformer/cache/internal/testkit.Journal":         &testkit.Journal{},
		"github.com/kinformer/cache.updateFunc.method":                ResourceEventHandlerFuncs{AddFunc: receiver.method},
		"github.com/kinformer/cache.updateFunc":                       ResourceEventHandlerFuncs{AddFunc: receiver.method, UpdateFunc: receiver.updateMethod, DeleteFunc: receiver.otherMethod},
		place + "+github.com/kinformer/cache.updateFunc.updateMethod": ResourceEventHandlerFuncs{AddFunc: one, UpdateFunc: receiver.updateMethod},
		"k8s.io/client-go/tools/cache.ResourceEventHandlerFuncs":      ResourceEventHandlerFuncs{},
		"k8s.io/client-go/tools/cache.FilteringResourceEventHandler":  FilteringResourceEventHandler{},
		"struct { *testkit.Journal }":                                 struct{ *testkit.Journal }{},
	} {
		assert.Equal(t, want, nameForHandler(handler))
	}
	assert.Equal(t, "github.com/kinformer/cache/internal/testkit.Journal", nameForHandler(Deliver(FilteringResourceEventHandler{Handler: &testkit.Journal{}}, Delivery{})))
	assert.Equal(t, "github.com/kinformer/cache/internal/testkit.Journal", nameForHandler(Deliver(&testkit.Journal{}, Delivery{})))
	assert.Equal(t, "given", nameForHandler(Deliver(&testkit.Journal{}, Delivery{Name: "given"})))
	assert.Equal(t, "<nil>", nameForHandler(nil))
	assert.Equal(t, "manager", packageOf("main.main.func1", "/src/cmd/manager/main.go"))
	assert.Equal(t, "gopkg.in/a.v2", packageOf("gopkg.in/a%2ev2.(*T[...]).F", "a.go"))
}
