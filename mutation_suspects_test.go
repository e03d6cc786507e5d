// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

// secondRun is a mutation detector that finds something when it is run for a second time.
type secondRun struct {
	cache.MutationDetector
	runs atomic.Int32
}

func (d *secondRun) Run(stop <-chan struct{}) {
	if d.runs.Add(1) > 1 {
		panic("cache modified")
	}
	<-stop
}

// suspected runs an informer of that name, with handlers of these names, until the test ends.
func suspected(t *testing.T, name string, lw cache.ListerWatcher, option cache.Option, handlers ...string) (cache.SharedIndexInformer, []cache.ResourceEventHandlerRegistration) {
	informer := cache.InformerFunc(option, cache.WithListMode(cache.ListModeList), cache.WithObjectDescription(name))(lw, &corev1.Pod{}, 0, nil)
	cache.WrapDetector(informer, func(d cache.MutationDetector) cache.MutationDetector { return &secondRun{MutationDetector: d} })
	var registrations []cache.ResourceEventHandlerRegistration
	for _, handler := range handlers {
		registration, err := informer.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{}, cache.Delivery{Name: handler}))
		require.NoError(t, err)
		registrations = append(registrations, registration)
	}
	t.Cleanup(running(t, informer))
	return informer, registrations
}

// accusation is what is logged before the panic of a detector goes on, as it is.
func accusation(t *testing.T, informer cache.SharedIndexInformer) string {
	ctx, lines := verbose(t, 0)
	assert.PanicsWithValue(t, "cache modified", func() { cache.DetectMutations(ctx, informer) })
	return strings.Join(lines.Take(), "\n")
}

// TestSuspectsOfAMutation: where the mutation detector panics, one error names the handlers that
// were called, and if objects of the informer share parts, those of all informers whose do.
func TestSuspectsOfAMutation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := func() cache.ListerWatcher {
			set := equalPodsOver(t, runtime.ContentTypeJSON, func() [][]byte { return nil })
			return cache.NewListWatchFromClient(set.CoreV1().RESTClient(), "pods", "", fields.Everything())
		}
		first, registrations := suspected(t, "first", pods(), sharingOption(false), "a", "b", "gone")
		suspected(t, "second", pods(), sharingOption(false), "c")
		third, _ := suspected(t, "third", pods(), cache.WithDecoding(cache.Decoding{}), "d")
		suspected(t, "fake", cachetest.New(equalPod(1, "")), sharingOption(false), "e")
		empty, _ := suspected(t, "empty", cachetest.New(), sharingOption(false), "never called")
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, first.RemoveEventHandler(registrations[2]))
		for informer, suspects := range map[cache.SharedIndexInformer]string{
			first: `["a of first" "b of first" "c of second" "gone of first"]`,
			third: `["d of third"]`,
			empty: `[]`,
		} {
			said := accusation(t, informer)
			assert.Equal(t, 1, strings.Count(said, "somebody has written to cached objects"), said)
			assert.Contains(t, said, fmt.Sprintf(`"oneOf"=%s`, suspects))
		}
	})
}

// TestNoSuspectsWithoutAMutation: a detector that has found nothing accuses nobody.
func TestNoSuspectsWithoutAMutation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := verbose(t, 0)
		informer := cache.NewSharedIndexInformer(cachetest.New(equalPod(1, "")), &corev1.Pod{}, 0, nil)
		cache.WrapDetector(informer, func(d cache.MutationDetector) cache.MutationDetector { return &secondRun{MutationDetector: d} })
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		informer.RunWithContext(ctx)
		assert.Zero(t, lines.Count("oneOf"))
	})
}
