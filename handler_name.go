// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// nameForHandler returns a name that a reader of a log can find in the code: for the Funcs adapters the functions in them,
// or the function around them if they share one; for any other handler its type. The wrapper of Deliver does not count.
func nameForHandler(handler ResourceEventHandler) string {
	switch h := handler.(type) {
	case deliveredHandler:
		if h.delivery.Name != "" {
			return h.delivery.Name
		}
		return nameForHandler(h.ResourceEventHandler)
	case ResourceEventHandlerFuncs:
		return nameForFuncs(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *ResourceEventHandlerFuncs:
		if h != nil {
			return nameForFuncs(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
		}
	}
	return nameForType(handler)
}

func nameForType(handler ResourceEventHandler) string {
	t := reflect.TypeOf(handler)
	if t == nil {
		return fmt.Sprintf("%T", handler)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Name() == "":
		return fmt.Sprintf("%T", handler)
	case t.PkgPath() == "":
		return t.Name()
	default:
		return t.PkgPath() + "." + t.Name()
	}
}

func nameForFuncs(handler ResourceEventHandler, funcs ...any) string {
	var names, scopes []string
	for _, f := range funcs {
		if name := funcName(f); name != "" {
			names = append(names, name)
			scopes = append(scopes, scopeOf(name))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%T", handler)
	}
	for _, scope := range scopes {
		if scope != scopes[0] {
			return strings.Join(names, "+")
		}
	}
	return scopes[0]
}

// funcName returns the full name of a function, "" for nil.
func funcName(f any) string {
	v := reflect.ValueOf(f)
	if v.IsNil() {
		return ""
	}
	if fn := runtime.FuncForPC(v.Pointer()); fn != nil {
		return fn.Name()
	}
	return ""
}

// scopeOf cuts the last element off a function's name: what is left is the function or package it was written in.
func scopeOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}
