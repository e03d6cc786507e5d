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

	"github.com/kinformer/cache/internal/minor"
)

// Delivered is a handler with the way in which it is to be served. What only an informer knows, as
// the resync period, is not in Options.
type Delivered struct {
	clientgo.ResourceEventHandler
	Options Options
	Err     error // why it cannot be served so
}

// HasDelivered reports whether the handler is Delivered, or a filter around one that is.
func HasDelivered(handler clientgo.ResourceEventHandler) bool {
	for {
		switch h := handler.(type) {
		case Delivered:
			return true
		case clientgo.FilteringResourceEventHandler:
			handler = h.Handler
		case *clientgo.FilteringResourceEventHandler:
			if h == nil {
				return false
			}
			handler = h.Handler
		default:
			return false
		}
	}
}

// Typed is a typed handler as an untyped one. A call panics for an object that is no T.
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
	// ErrNilHandler refuses a handler that is nil.
	ErrNilHandler = errors.New("event handler is nil")
	// ErrBadDelivery refuses a handler that cannot be served as it is to be.
	ErrBadDelivery = errors.New("invalid Delivery")

	errNested = fmt.Errorf("%w: Deliver is inside of another wrapper, where nobody sees it: "+
		"have one Delivery, and its wrapper outermost; instead of a handler in a FilteringResourceEventHandler, Deliver the filter", ErrBadDelivery)
)

// Unwrap returns a handler without a Delivered around it, and how it is to be served: as standard
// says, if it has no such wrapper.
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

// NameOf returns a name that a reader of a log can find in the code: for functions, also
// those in the adapters of client-go, the file and line where the first of them is, or for the value
// of a method that method; for any other handler its type. Filters, typed adapters and a Delivered
// do not count.
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

// adapters are the packages of the adapters of functions and the wrappers of handlers that are
// looked into.
var adapters = map[string]bool{
	reflect.TypeFor[clientgo.ResourceEventHandlerFuncs]().PkgPath():      true,
	reflect.TypeFor[minor.DeletedObject[*metav1.ObjectMeta]]().PkgPath(): true, // and of the typed adapters
	reflect.TypeFor[Delivered]().PkgPath():                               true,
}

// wrappedIn are the fields in which wrappers have a handler: filters, the typed adapters,
// Delivered.
var wrappedIn = []string{"Handler", "handler", "ResourceEventHandler"}

// insideOf returns the handler that is inside of wrappers. It is not valid for a nil interface.
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

// functionOf returns the first function of a handler that is made of functions; not valid for one
// that is of another kind.
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

// placeOf returns the file and line of a function, with the path of the package; for the value of a
// method its full name. It is empty for nil, and for what is no function.
func placeOf(f reflect.Value) string {
	if f.Kind() != reflect.Func || f.IsNil() {
		return ""
	}
	fn := runtime.FuncForPC(f.Pointer())
	if fn == nil {
		return ""
	}
	if method, ok := strings.CutSuffix(fn.Name(), "-fm"); ok { // it is in no file
		return method
	}
	file, line := fn.FileLine(fn.Entry())
	return fmt.Sprintf("%s:%d", path.Join(packageOf(fn.Name(), file), path.Base(file)), line)
}

// packageOf returns the path of the package of a function, for that of a program its folder.
func packageOf(function, file string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	if pkg := function[:slash] + strings.ReplaceAll(name, "%2e", "."); pkg != "main" {
		return pkg
	}
	return path.Base(path.Dir(file))
}

// nameOfType returns the name of a type without type arguments, behind the last two elements of the path of
// its package.
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

// WarnOfTypedNil says of a handler that is a nil pointer, or the like, what it is. It may be meant:
// so it is called.
func WarnOfTypedNil(logger klog.Logger, handler clientgo.ResourceEventHandler) {
	switch v := insideOf(reflect.ValueOf(handler)); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		if v.IsNil() {
			logger.Info("Warning: an event handler is a nil pointer: its calls panic, unless its methods accept that",
				"type", v.Type().String())
		}
	}
}
