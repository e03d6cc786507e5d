// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/kinformer/cache/internal/testkit"
)

// TestOutageLines: whoever comes in what order, lines are a second apart, and each ticket is
// written or counted once.
func TestOutageLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines OutageLines
		now := time.Unix(1e9, 0)
		var last time.Time
		var open []uint64
		var asked, told uint64
		come := func(i int) {
			wait, others, mine := lines.turn(open[i], now)
			if wait > 0 {
				assert.Equal(t, last.Add(outagePace), now.Add(wait), "when the line before is a second old")
				return
			}
			open = append(open[:i:i], open[i+1:]...)
			if mine {
				assert.GreaterOrEqual(t, now.Sub(last), outagePace)
				last, told = now, told+1+others
			}
			assert.LessOrEqual(t, told, asked)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				open = append(open, lines.ask())
				asked++
			case 1:
				if len(open) > 0 {
					come(rapid.IntRange(0, len(open)-1).Draw(t, "who"))
				}
			default:
				now = now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond)
			}
		}
		for len(open) > 0 {
			now = now.Add(outagePace)
			come(0)
		}
		assert.Equal(t, asked, told)
	})
}

// outageOf is the outage of a reflector with turns of its own.
func outageOf(turns *OutageLines) *outage {
	o := Options{Outages: turns}.withDefaults()
	return &outage{Options: &o}
}

// TestShortOutageAfterALateLine: a line about the end of an outage that had to wait for its turn
// makes the next outage, a short one, no longer than it is.
func TestShortOutageAfterALateLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := testkit.Loud(t)
		o := outageOf(&OutageLines{})
		o.note(ctx, testkit.ErrRefused)
		<-o.rings
		o.ring(ctx)
		require.Equal(t, 1, lines.Count("out of reach"))
		o.over(ctx)
		require.Zero(t, lines.Count("in reach again"), "waits for its turn")
		<-o.rings
		o.ring(ctx)
		require.Equal(t, 1, lines.Count("in reach again"))
		lines.Take()

		time.Sleep(time.Minute)
		o.note(ctx, testkit.ErrRefused)
		time.Sleep(time.Second)
		o.over(ctx)
		assert.Empty(t, lines.Take(), "too short for a line")
		assert.Nil(t, o.rings)
	})
}

// TestOutageAfterALineOfOthers: the line about the end of one outage waits for its turn when the
// next one begins, and another reflector counts it: the next outage has its warning all the same.
func TestOutageAfterALineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := testkit.Loud(t)
		turns := &OutageLines{}
		o := outageOf(turns)
		o.note(ctx, testkit.ErrRefused)
		<-o.rings
		o.ring(ctx)
		o.over(ctx)
		lines.Take()
		o.note(ctx, testkit.ErrRefused)
		time.Sleep(2 * time.Second)
		_, others, mine := turns.turn(turns.ask(), time.Now())
		assert.True(t, mine)
		assert.EqualValues(t, 1, others, "the end of the first")
		time.Sleep(2 * time.Second)
		assert.Empty(t, lines.Take())
		<-o.rings
		o.ring(ctx)
		assert.Equal(t, 1, lines.Count("Warning: the server is out of reach"))
		o.end()
	})
}

// TestIsOutOfReach tells no answer from one that is not liked.
func TestIsOutOfReach(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused":               {testkit.ErrRefused, true},
		"reset":                 {fmt.Errorf("read: %w", syscall.ECONNRESET), true},
		"certificate":           {&url.Error{Op: "Get", URL: "/", Err: errors.New("x509: unknown authority")}, true},
		"too late":              {fmt.Errorf("failed to list: %w", context.DeadlineExceeded), true},
		"end of the connection": {io.ErrUnexpectedEOF, true},
		"closed at once":        {&clientgo.VeryShortWatchError{Name: "r"}, true},
		"unavailable":           {apierrors.NewServiceUnavailable("starting"), true},
		"internal":              {testkit.ErrInternal, true},
		"bad gateway":           {apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", v1.Resource("pods"), "", "", 0, true), true},
		"busy":                  {fmt.Errorf("failed to list: %w", testkit.ErrTooManyRequests), true},

		"version ahead of the server": {apierrors.NewTimeoutError(tooLargeVersion, 1), false},
		"forbidden":                   {testkit.ErrForbidden, false},
		"expired":                     {testkit.ErrExpired, false},
		"not found":                   {apierrors.NewNotFound(v1.Resource("pods"), ""), false},
		"of a fake":                   {errors.New("no"), false},
		"closed":                      {errClosed, false},
		"no list":                     {errNoList, false},
	} {
		assert.Equal(t, tc.want, isOutOfReach(tc.err), name)
	}
}
