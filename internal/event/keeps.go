// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"reflect"
	"runtime"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// copies has the addresses of the code of functions. It is not changed once the program's packages are initialized.
var copies = map[uintptr]bool{}

// CopiesParts makes functions known that satisfy kinformer.Decoding.TransformCopies. All closures of a function literal are
// known by one of them, unless the compiler inlines the function that returns them. CopiesParts may be called by an init only.
func CopiesParts(functions ...clientgo.TransformFunc) {
	for _, f := range functions {
		copies[codeOf(f)] = true
	}
}

func codeOf(f clientgo.TransformFunc) uintptr { return reflect.ValueOf(f).Pointer() }

// KeepsParts reports whether f is known to satisfy kinformer.Decoding.TransformCopies for objects
// like the example: f is one of CopiesParts, or controller-runtime's TransformStripManagedFields, except for unstructured
// objects, whose metadata is below the topmost map.
func KeepsParts(f clientgo.TransformFunc, example any) bool {
	if copies[codeOf(f)] {
		return true
	}
	of := runtime.FuncForPC(codeOf(f))
	if of == nil {
		return false
	}
	// The file is that of the source of f, even if the compiler has inlined f into another function.
	file, _ := of.FileLine(of.Entry())
	_, untyped := example.(apiruntime.Unstructured)
	return !untyped && example != nil && strings.HasSuffix(file, "/pkg/cache/cache.go") && strings.Contains(file, "sigs.k8s.io/controller-runtime") &&
		strings.Contains(of.Name(), "TransformStripManagedFields.")
}
