// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"path"
	"reflect"
	"runtime"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

// KeepsParts reports whether f is known to satisfy kinformer.Decoding.TransformCopies for objects
// like the example. These are the functions of package trim, and controller-runtime's
// TransformStripManagedFields, except for unstructured objects, whose metadata is below the topmost
// map.
func KeepsParts(f clientgo.TransformFunc, example any) bool {
	of := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	if of == nil {
		return false
	}
	// The file is that of the source of f, even if the compiler has inlined f into another
	// function.
	file, _ := of.FileLine(of.Entry())
	switch {
	case strings.HasSuffix(file, "/pkg/cache/cache.go") && strings.Contains(file, "sigs.k8s.io/controller-runtime"):
		_, untyped := example.(apiruntime.Unstructured)
		return !untyped && example != nil && strings.Contains(of.Name(), "TransformStripManagedFields.")
	default:
		return file == trimFile
	}
}

// trimFile is the source file of package trim.
var trimFile = func() string {
	_, file, _, _ := runtime.Caller(0)
	return path.Join(path.Dir(file), "../../trim/trim.go")
}()
