// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestUpdates sends KINFORMER_UPDATES updates of a pod through a tap, and checks that unchanged
// parts are copied. TestWayOfAnUpdate, in tools/walls, compares the functions that two numbers of
// updates execute.
func TestUpdates(t *testing.T) {
	updates, _ := strconv.Atoi(os.Getenv("KINFORMER_UPDATES"))
	list := largePods(20, "4")
	var script []event
	for i := range list {
		script = append(script, event{watch.Added, &list[i]})
	}
	for i := range 6 + updates {
		next := list[15].DeepCopy()
		next.ResourceVersion, next.Status.Message = strconv.Itoa(30+i), strconv.Itoa(i)
		script = append(script, event{watch.Modified, next})
	}
	k := kinds[0]
	k.http2 = true
	got := watched(t, k.tapped(t, served{watches: []answer{events(false, script...)}}, remembers)).Events
	if assert.Len(t, got, len(script)) {
		last, before := got[len(got)-1].Object.(*v1.Pod), got[len(got)-2].Object.(*v1.Pod)
		assert.Same(t, &before.Spec.Containers[0], &last.Spec.Containers[0])
	}
}
