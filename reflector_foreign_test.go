// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestForeignStoreThatPanics: the position is where the store has come, so the list that follows is no older than what the
// store took of events that came together.
func TestForeignStoreThatPanics(t *testing.T) {
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = true }()
	synctest.Test(t, func(t *testing.T) {
		store := &storeLog{fail: func(entry string) error {
			if entry == "add d@8" {
				panic("the store's")
			}
			return nil
		}}
		server := &fakeServer{noStream: true, watch: watches(sent(added("b", "6"), added("c", "7"), added("d", "8"), added("e", "9"))),
			list: func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
				return podList(fmt.Sprint(4 + n)), nil
			}}
		defer inBackground(t, newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)}).run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"replace 5:", "add b@6", "add c@7", "add d@8", "replace 6:"}, store.entries())
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "list rv=7 limit=0"}, server.asked()[:3])
	})
}

// TestForeignStoreHearsWhereTheReflectorIs: during the call about an event LastSyncResourceVersion is that of the one
// before, and with the stop no more than a few events that were read already follow.
func TestForeignStoreHearsWhereTheReflectorIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *reflector
		var at []string
		ctx, cancel := context.WithCancel(t.Context())
		store := &storeLog{fail: func(entry string) error {
			if at = append(at, r.version()); entry == "add p8@8" {
				cancel()
			}
			return nil
		}}
		var events script
		for i := 6; i < 200; i++ {
			events = append(events, added(fmt.Sprint("p", i), fmt.Sprint(i)))
		}
		server := &fakeServer{noStream: true, list: listOf(podList("5")), watch: watches(events)}
		r = newReflector(reflectorOptions{listerWatcher: server, sink: newForeignSink(store)})
		r.run(ctx)
		assert.Equal(t, []string{"", "5", "6", "7"}, at[:4])
		assert.Less(t, len(at), 100, "select may choose the event a few times")
	})
}
