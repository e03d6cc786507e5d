// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// anError is something that goes wrong, and what is reported of it.
type anError struct {
	set     func(cache.SharedIndexInformer) error
	happens func(*cachetest.Source)
	told    string
}

// someErrors are reported from several goroutines and functions of an informer.
func someErrors() map[string]anError {
	nothing := func(cache.SharedIndexInformer) error { return nil }
	failsLists := func(s *cachetest.Source) {
		s.FailNext(cachetest.VerbWatchList, cachetest.InternalError())
		s.FailNext(cachetest.VerbList, cachetest.InternalError())
		s.Inject(cachetest.ErrorEvent(cachetest.Expired()))
	}
	createsBad := func(s *cachetest.Source) { s.Create(badPod("bad", "")) }
	return map[string]anError{
		"list": {nothing, failsLists, "Failed to watch"},
		"list, and a handler of the program's": {func(i cache.SharedIndexInformer) error {
			return i.SetWatchErrorHandlerWithContext(cache.DefaultWatchErrorHandler)
		}, failsLists, "Failed to watch"},
		"event": {nothing, func(s *cachetest.Source) { s.Inject(cachetest.Garbage(&corev1.Pod{})...) }, "Watch event dropped"},
		"transform": {func(i cache.SharedIndexInformer) error {
			return i.SetTransform(refusing(refusals["error"]))
		}, createsBad, "Unable to write a watch event to the store"},
		"index function": {func(i cache.SharedIndexInformer) error {
			return i.AddIndexers(cache.Indexers{"v": func(obj any) ([]string, error) {
				_, err := refusing(refusals["error"])(obj)
				return nil, err
			}})
		}, createsBad, "Index function failed"},
	}
}

// TestFirstErrorInABubble: in a program that left apimachinery's error handlers as they are, and
// added one, an informer in a bubble goes on at once after an error, and the program's handler
// hears of it. The last error of the process was on the real clock, decades after the bubble's.
func TestFirstErrorInABubble(t *testing.T) {
	for name, failure := range someErrors() {
		t.Run(name, func(t *testing.T) {
			utilruntime.HandleError(errors.New("the last error, of the real clock"))
			told := alsoTold(t)
			synctest.Test(t, func(t *testing.T) {
				source := cachetest.New(testkit.Pod("a", ""))
				informer := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
				require.NoError(t, failure.set(informer))
				defer running(t, informer)()
				synctest.Wait()
				failure.happens(source)
				synctest.Wait()
				source.Create(testkit.Pod("late", ""))
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Contains(t, informer.GetStore().ListKeys(), "ns/late")
			})
			assert.Contains(t, told(), failure.told)
		})
	}
}

// alsoTold adds an error handler to those that there are, until the test ends, and returns what it
// was told.
func alsoTold(t *testing.T) func() []string {
	var mu sync.Mutex
	var messages []string
	before := utilruntime.ErrorHandlers
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	utilruntime.ErrorHandlers = append(slices.Clone(before), func(_ context.Context, _ error, msg string, _ ...any) {
		mu.Lock()
		defer mu.Unlock()
		messages = append(messages, msg)
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(messages)
	}
}
