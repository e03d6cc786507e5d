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

// configured describes the objects, as far as they are known before the first request.
type configured struct {
	description string // the user's
	target      tap.Target
	example     any
	source      string // the name of the source among several; "" if there is one
}

// name returns the name of the objects for logs and errors: the target if it is known, else the
// type. A description takes precedence if no resource was given. The name of one of several sources
// has its source in the place of namespace and selectors, from its start on.
func (g *configured) name(target tap.Target) string {
	if g.source != "" {
		one := *g
		one.source = ""
		return one.name(tap.Target{Resource: target.Resource}) + " of source " + g.source
	}
	switch {
	case g.description != "" && g.target.IsZero():
		return g.description
	case !target.IsZero():
		return target.String()
	default:
		return target.Of(Describe(g.example))
	}
}

// Describe returns the name of the type of the example: its kind if it is unstructured and has
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

// CallsiteName returns file:line of the nearest caller outside of this module's engines and of
// client-go's tools/cache.
func CallsiteName() string {
	return naming.GetNameFromCallsite(append(ownFilesOnStack(), "client-go/tools/cache/")...)
}

// ownFilesOnStack returns the files of the engines on the stack of the current call.
func ownFilesOnStack() []string {
	const depth = 32 // more than package naming inspects
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

// modulePath is the path of the root package.
var modulePath = strings.TrimSuffix(reflect.TypeFor[configured]().PkgPath(), "/internal/reflector")

// isOwn reports whether a function belongs to the root package or to the engines below it, without
// tests. It uses the function's package path, which does not depend on where the module was
// unpacked or how it was built.
func isOwn(function, file string) bool {
	rest, inModule := strings.CutPrefix(function, modulePath)
	return inModule && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/internal/")) && !strings.HasSuffix(file, "_test.go")
}
