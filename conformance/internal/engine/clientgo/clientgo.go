// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientgo makes client-go's own Reflector an engine, to prove that the rig changes no
// test's outcome.
package clientgo

import (
	"context"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/wait"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/conformance/internal/engine"
)

// New makes a reflector by the settings.
func New(s engine.Settings) engine.Engine {
	r := clientgo.NewReflectorWithOptions(s.ListerWatcher, s.ExpectedType, s.Store, s.Options)
	r.WatchListPageSize = s.WatchListPageSize
	r.ShouldResync = s.ShouldResync
	r.MaxInternalErrorRetryDuration = s.MaxInternalErrorRetryDuration
	*field[string](r, "lastSyncResourceVersion") = s.ResourceVersion
	if s.Delay != nil {
		*field[wait.DelayFunc](r, "delayHandler") = func() time.Duration { return s.Delay() }
	}
	if s.WatchList != nil {
		*field[bool](r, "useWatchList") = *s.WatchList
	}
	if s.WatchErrorHandler != nil {
		*field[clientgo.WatchErrorHandlerWithContext](r, "watchErrorHandler") = s.WatchErrorHandler
	}
	return reflector{r}
}

type reflector struct{ *clientgo.Reflector }

func (r reflector) ListAndWatch(ctx context.Context) error { return r.ListAndWatchWithContext(ctx) }

func (r reflector) Run(ctx context.Context) { r.RunWithContext(ctx) }

func (r reflector) UsesWatchList() bool { return *field[bool](r.Reflector, "useWatchList") }

// field is the address of an unexported field. The tests set these fields from inside their
// package; this package does it to client-go alone, at the version that go.mod pins, and panics
// when a field is not of type T.
func field[T any](r *clientgo.Reflector, name string) *T {
	f := reflect.ValueOf(r).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("client-go's Reflector has no field %s of type %s", name, reflect.TypeFor[T]()))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
