// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

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

	"github.com/kinformer/cache/internal/testkit"
)

// TestForeignStoreThatPanics: the position is that of the store's last change, so the next list is
// not older than the events that the store has taken.
func TestForeignStoreThatPanics(t *testing.T) {
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = true }()
	synctest.Test(t, func(t *testing.T) {
		store := &testkit.StoreLog{Fail: func(entry string) error {
			if entry == "add d@8" {
				panic("the store's")
			}
			return nil
		}}
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(testkit.Sent(testkit.Added("b", "6"), testkit.Added("c", "7"), testkit.Added("d", "8"), testkit.Added("e", "9"))),
			OnList: func(n int, _ context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
				return testkit.PodList(fmt.Sprint(4 + n)), nil
			}}
		defer testkit.InBackground(t, New(Options{ListerWatcher: server, Sink: Foreign(store)}).Run)()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"replace 5:", "add b@6", "add c@7", "add d@8", "replace 6:"}, store.Entries())
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5", "list rv=7 limit=0"}, server.Requests()[:3])
	})
}

// TestForeignStoreReadsTheReflectorsVersion: during the call for an event, LastSyncResourceVersion
// is the version of the event before. After the stop at most a few events that were read already
// follow.
func TestForeignStoreReadsTheReflectorsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *Reflector
		var at []string
		ctx, cancel := context.WithCancel(t.Context())
		store := &testkit.StoreLog{Fail: func(entry string) error {
			if at = append(at, r.state.Version()); entry == "add p8@8" {
				cancel()
			}
			return nil
		}}
		var events testkit.Script
		for i := 6; i < 200; i++ {
			events = append(events, testkit.Added(fmt.Sprint("p", i), fmt.Sprint(i)))
		}
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(events)}
		r = New(Options{ListerWatcher: server, Sink: Foreign(store)})
		r.Run(ctx)
		assert.Equal(t, []string{"", "5", "6", "7"}, at[:4])
		assert.Less(t, len(at), 100, "select may choose the event a few times")
	})
}
