// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"reflect"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/util/naming"

	"github.com/kinformer/cache/internal/tap"
)

// given is what is known of the objects before the first request.
type given struct {
	description string // of the user's
	target      tap.Target
	example     any
}

// name is what logs and errors call the objects: the target, if it is known, else the type. A description
// counts if no resource was given.
func (g *given) name(target tap.Target) string {
	switch {
	case g.description != "" && g.target.IsZero():
		return g.description
	case !target.IsZero():
		return target.String()
	default:
		return target.Of(Describe(g.example))
	}
}

// Describe says in words what the example stands for: its kind if it is unstructured and has
// one, else its Go type.
func Describe(example any) string {
	if example == nil {
		return "<unspecified>"
	}
	if gvk := unstructuredKind(example); gvk != nil {
		return gvk.String()
	}
	return reflect.TypeOf(example).String()
}

// CallsiteName is file:line of the nearest caller outside of this module's engines and of
// client-go's tools/cache.
func CallsiteName() string {
	return naming.GetNameFromCallsite(append(ownFilesOnStack(), "client-go/tools/cache/")...)
}

// ownFilesOnStack lists the files of the engines that the present call goes through.
func ownFilesOnStack() []string {
	const depth = 32 // more than naming looks at
	pcs := make([]uintptr, depth)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var files []string
	for {
		frame, more := frames.Next()
		if isOwn(frame.Function, frame.File) {
			files = append(files, frame.File)
		}
		if !more {
			return files
		}
	}
}

// modulePath is that of the root package, whichever of its packages this file is in.
var modulePath = strings.TrimSuffix(reflect.TypeFor[given]().PkgPath(), "/internal/reflector")

// isOwn reports whether a function is one of the root package or of the engines below it, tests
// left out. It goes by the function's package, which holds wherever the module was unpacked and
// however it was built.
func isOwn(function, file string) bool {
	rest, inModule := strings.CutPrefix(function, modulePath)
	return inModule && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/internal/")) && !strings.HasSuffix(file, "_test.go")
}
