// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/internal/testkit/informers"
	"github.com/kinformer/cache/kinformer"
)

var (
	stateOfLine   = regexp.MustCompile(`"level"=(\d) .*"state"="([\w-]+)"`)
	detailsOfLine = regexp.MustCompile(`"(reason|how|again|outage|degraded|failures)"="?([^" ]+)`)
)

// statesOf returns the states in log lines, each with its details, and with its verbosity if that
// is not 2.
func statesOf(lines []string) (states []string) {
	for _, line := range lines {
		state := stateOfLine.FindStringSubmatch(line)
		if state == nil {
			continue
		}
		told := state[2]
		if state[1] != "2" {
			told = "V" + state[1] + " " + told
		}
		for _, detail := range detailsOfLine.FindAllStringSubmatch(line, -1) {
			told += " " + detail[1] + "=" + detail[2]
		}
		states = append(states, told)
	}
	return states
}

// TestStateLines: each change of state is one line at V(2), and an outage has one line for all
// informers.
func TestStateLines(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		down := outages{
			{from: 10 * time.Second, to: 12 * time.Second, list: testkit.ErrRefused, watch: testkit.ErrRefused},
			{from: time.Minute, to: time.Minute + 10*time.Second, list: testkit.ErrForbidden, watch: testkit.ErrForbidden},
			{from: 2 * time.Minute, to: 2*time.Minute + 12*time.Second, list: testkit.ErrRefused, watch: testkit.ErrRefused},
		}
		ctx, lines := testkit.Loud(t, 2)
		ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
		defer cancel()
		informer := informers.OnServers(&reflector.Servers{}, informers.Of(down.serve(&testkit.Server{NoStream: true}), kinformer.Options{ObjectDescription: "test pods"}))
		informer.RunWithContext(ctx)
		said := lines.Take()
		assert.Equal(t, []string{
			"started", "listing how=list", "synced",
			"degraded reason=forbidden", "listing how=list again=watch", "synced",
			"recovered degraded=10s failures=10",
			"V0 reachable",
			"stopped",
		}, statesOf(said))
		for _, line := range testkit.About(`"level"=2`, testkit.About(`"state"=`, said)) {
			assert.Contains(t, line, `"type"="test pods"`)
			assert.Contains(t, line, `"reflector"=`)
		}
	})
}

// TestStateLinesOfRelists: each list is logged with its mode and reason.
func TestStateLinesOfRelists(t *testing.T) {
	testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		server, opened := &testkit.Server{}, 0
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n == 2 {
				return nil, testkit.ErrExpired
			}
			return testkit.PodList("5"), nil
		}
		server.OnWatch = func(_ int, _ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, testkit.ErrForbidden
			}
			if opened++; opened == 1 {
				return testkit.Sent(testkit.FailedWith(testkit.ErrExpired)).Open(), nil
			}
			return watch.NewFake(), nil
		}
		ctx, lines := testkit.Loud(t, 2)
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		informers.Of(server, kinformer.Options{}).RunWithContext(ctx)
		assert.Equal(t, []string{
			"started", "listing how=watch-list", "degraded reason=forbidden", "listing how=list again=fallback", "synced",
			"recovered degraded=0s failures=1", "degraded reason=expired",
			"listing how=watch-list again=expired", "listing how=list again=fallback", "listing how=list again=refused", "synced",
			"recovered degraded=1s failures=2", "stopped",
		}, statesOf(lines.Take()))
	})
}

// TestStateLineOfAPolicy: an informer that its policy stops logs this once, at every verbosity.
func TestStateLineOfAPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for verbosity, want := range map[int][]string{0: nil, 2: {"started", "listing how=list", "degraded reason=forbidden"}} {
			ctx, lines := testkit.Loud(t, verbosity)
			server := &testkit.Server{NoStream: true, OnList: informers.ListsThen(nil, testkit.ErrForbidden)}
			informers.Of(server, kinformer.Options{Errors: kinformer.Errors{Policy: kinformer.StopOnForbidden}}).RunWithContext(ctx)
			assert.Equal(t, 1, lines.Count("has stopped for good"))
			assert.Equal(t, 1, lines.Count(`"state"="stopped"`))
			assert.Equal(t, want, statesOf(lines.Take()))
		}
	})
}

// TestStateLinesOfAPanic: the lines after a panic of the ListerWatcher, in a process that survives
// it.
func TestStateLinesOfAPanic(t *testing.T) {
	testkit.QuietPanics(t)
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnWatch: testkit.Watches(watch.NewFake())}
		server.OnList = func(n int, _ context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			if n <= 2 {
				panic("no list today")
			}
			return testkit.PodList("5"), nil
		}
		ctx, lines := testkit.Loud(t, 2)
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		informers.Of(server, kinformer.Options{}).RunWithContext(ctx)
		assert.Equal(t, []string{
			"started", "listing how=list", "degraded reason=panic", "listing how=list again=panic", "synced",
			"recovered degraded=2s failures=2", "stopped",
		}, statesOf(lines.Take()))
	})
}
