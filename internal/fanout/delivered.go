// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/minor"
)

// Delivered is a handler with the options of its delivery. Options that only an informer knows,
// such as the resync period, are not set.
type Delivered struct {
	clientgo.ResourceEventHandler
	Options Options
	Err     error // why the options are invalid, or nil
}

// HasDelivered reports whether the handler is a Delivered, or a filter around one.
func HasDelivered(handler clientgo.ResourceEventHandler) bool {
	switch h := handler.(type) {
	case Delivered:
		return true
	case clientgo.FilteringResourceEventHandler:
		return HasDelivered(h.Handler)
	case *clientgo.FilteringResourceEventHandler:
		return h != nil && HasDelivered(h.Handler)
	default:
		return false
	}
}

// Typed adapts a typed handler to an untyped one. A call panics for an object that is not a T.
type Typed[T minor.Object] struct {
	Handler minor.TypedResourceEventHandler[T]
}

func (h Typed[T]) OnAdd(obj any, isInInitialList bool) { h.Handler.OnAdd(obj.(T), isInInitialList) }

func (h Typed[T]) OnUpdate(oldObj, newObj any) { h.Handler.OnUpdate(oldObj.(T), newObj.(T)) }

func (h Typed[T]) OnDelete(obj any) {
	tombstone, unknown := obj.(clientgo.DeletedFinalStateUnknown)
	switch {
	case !unknown:
		h.Handler.OnDelete(minor.DeletedObject[T]{OptionalObj: obj.(T)})
	case tombstone.Obj == nil:
		h.Handler.OnDelete(minor.DeletedObject[T]{FinalStateUnknown: &tombstone})
	default:
		h.Handler.OnDelete(minor.DeletedObject[T]{OptionalObj: tombstone.Obj.(T), FinalStateUnknown: &tombstone})
	}
}

var (
	// ErrNilHandler is returned for a nil handler.
	ErrNilHandler = errors.New("event handler is nil")
	// ErrBadDelivery is returned for a handler with invalid options.
	ErrBadDelivery = errors.New("invalid Delivery")

	errNested = fmt.Errorf("%w: Deliver has no effect inside another wrapper: "+
		"wrap the handler in Deliver once, outermost; to filter, pass the FilteringResourceEventHandler to Deliver", ErrBadDelivery)
)

// Unwrap returns a handler without a Delivered around it, and its options: those of standard if
// there is no such wrapper.
func Unwrap(handler clientgo.ResourceEventHandler, standard Delivered) (clientgo.ResourceEventHandler, Options, error) {
	name := NameOf(handler)
	wrapped, ok := handler.(Delivered)
	if !ok {
		wrapped = standard
		wrapped.ResourceEventHandler = handler
	}
	switch handler = wrapped.ResourceEventHandler; {
	case handler == nil:
		return nil, Options{}, ErrNilHandler
	case HasDelivered(handler):
		wrapped.Err = errNested
	}
	if wrapped.Err != nil {
		return nil, Options{}, fmt.Errorf("handler %s: %w", name, wrapped.Err)
	}
	wrapped.Options.Name = name
	return AsWhole(handler), wrapped.Options, nil
}

// NameOf returns a name of a handler by which it can be found in the source. For functions, also in
// client-go's adapters, the name is the file and line of the first function, or the full name of a
// method value. For other handlers it is the type. Filters, typed adapters and Delivered are
// skipped.
func NameOf(handler clientgo.ResourceEventHandler) string {
	if h, ok := handler.(Delivered); ok && h.Options.Name != "" {
		return h.Options.Name
	}
	v := insideOf(reflect.ValueOf(handler))
	if !v.IsValid() {
		return fmt.Sprintf("%T", handler)
	}
	if place := placeOf(functionOf(v)); place != "" {
		return place
	}
	return nameOfType(v.Type())
}

// adapters are the packages of the function adapters and handler wrappers that NameOf looks into.
var adapters = map[string]bool{
	reflect.TypeFor[clientgo.ResourceEventHandlerFuncs]().PkgPath():      true,
	reflect.TypeFor[minor.DeletedObject[*metav1.ObjectMeta]]().PkgPath(): true, // and of the typed adapters
	reflect.TypeFor[Delivered]().PkgPath():                               true,
}

// wrappedIn are the names of the fields in which wrappers hold a handler: filters, the typed
// adapters, Delivered.
var wrappedIn = []string{"Handler", "handler", "ResourceEventHandler"}

// insideOf returns the handler inside of wrappers. It is not valid for a nil interface.
func insideOf(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if isAdapter(v) {
		for _, name := range wrappedIn {
			if inner := v.FieldByName(name); inner.Kind() == reflect.Interface && !inner.IsNil() {
				return insideOf(inner)
			}
		}
	}
	return v
}

func isAdapter(v reflect.Value) bool {
	return v.Kind() == reflect.Struct && adapters[v.Type().PkgPath()]
}

// functionOf returns the first function of a handler that consists of functions, and any other
// handler itself. It is not valid for an adapter without a function.
func functionOf(v reflect.Value) reflect.Value {
	if !isAdapter(v) {
		return v
	}
	for _, name := range []string{"AddFunc", "UpdateFunc", "DeleteFunc"} {
		if f := v.FieldByName(name); f.Kind() == reflect.Func && !f.IsNil() {
			return f
		}
	}
	return reflect.Value{}
}

// placeOf returns the package path, file and line of a function, or the full name of a method
// value. It is empty for nil, and for a value that is not a function.
func placeOf(f reflect.Value) string {
	if f.Kind() != reflect.Func || f.IsNil() {
		return ""
	}
	fn := runtime.FuncForPC(f.Pointer())
	if fn == nil {
		return ""
	}
	if method, ok := strings.CutSuffix(fn.Name(), "-fm"); ok { // a method value has no file
		return method
	}
	file, line := fn.FileLine(fn.Entry())
	return fmt.Sprintf("%s:%d", path.Join(packageOf(fn.Name(), file), path.Base(file)), line)
}

// packageOf returns the package path of a function. For package main that is the folder of the
// file.
func packageOf(function, file string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	if pkg := function[:slash] + strings.ReplaceAll(name, "%2e", "."); pkg != "main" {
		return pkg
	}
	return path.Base(path.Dir(file))
}

// nameOfType returns the name of a type without type arguments, prefixed with the last two elements
// of its package path.
func nameOfType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	switch {
	case name == "":
		return t.String()
	case t.PkgPath() == "":
		return name
	}
	elements := strings.Split(t.PkgPath(), "/")
	return strings.Join(elements[max(0, len(elements)-2):], "/") + "." + name
}

// WarnOfTypedNil logs a warning for a handler that is a typed nil. It may be intended, so the
// handler is called nevertheless.
func WarnOfTypedNil(logger klog.Logger, handler clientgo.ResourceEventHandler) {
	switch v := insideOf(reflect.ValueOf(handler)); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		if v.IsNil() {
			event.Warn(logger, 0, "An event handler is a nil pointer: its calls panic, unless its methods accept that",
				"type", v.Type().String())
		}
	}
}
