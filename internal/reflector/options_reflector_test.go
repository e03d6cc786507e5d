// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/internal/testkit"
)

// TestIdleTimeoutNotForPauses: time in which the reflector waits for its store is no silence of the
// server.
func TestIdleTimeoutNotForPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := testkit.NewScriptedWatch(0)
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("5")), OnWatch: testkit.Watches(w)}
		store := &testkit.StoreLog{Fail: func(entry string) error {
			if entry == "add b@9" {
				time.Sleep(time.Hour)
			}
			return nil
		}}
		r := New(Options{ListerWatcher: server, Sink: Foreign(store), IdleTimeout: 4 * time.Minute})
		stop := testkit.InBackground(t, r.Run)
		w.Events <- testkit.Bookmark("8")
		w.Events <- testkit.Added("b", "9") // takes an hour
		time.Sleep(time.Hour + time.Minute)
		w.Events <- testkit.Added("c", "10")
		time.Sleep(3 * time.Minute)
		stop()
		assert.Equal(t, []string{"list rv=0 limit=500", "watch rv=5"}, server.Asked())
	})
}
