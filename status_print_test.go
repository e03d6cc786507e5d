// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/cache"
)

// TestStatusPrintsWell: in one line that a reader understands, of every status and by every logger.
func TestStatusPrintsWell(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	for want, s := range map[string]cache.Status{
		"never run, 0 objects, 0 lists, 0 watches":                                 {},
		"never run, 1 object, 0 lists, 0 watches":                                  {Phase: cache.PhaseNew, Objects: 1},
		"never run, 0 objects, 0 lists, 0 watches; it cannot run; last error: bad": {Phase: cache.PhaseNew, Degraded: []string{"it cannot run"}, LastError: errors.New("bad")},
		"listing for 1.235s (list), 0 objects, 1 list, 0 watches":                  {Phase: cache.PhaseListing, PhaseSince: at, PhaseAge: 1234567 * time.Microsecond, Mode: cache.ListModeList, Lists: 1},
		`watching for 1h0m1s (watch-list) at version "7", 2 objects, 0 lists, 3 watches, 2 reconnects (last outage 1m2s), last event 3s ago`: {
			Phase: cache.PhaseWatching, PhaseSince: at, PhaseAge: time.Hour + 1234*time.Millisecond, Mode: cache.ListModeWatchList, ResourceVersion: "7", Objects: 2, Watches: 3,
			LastError: errors.New("long ago"), LastErrorAt: at, Reconnects: 2, LastOutage: 62111 * time.Millisecond, LastEvent: at, LastEventAge: 3 * time.Second},
		"backing off for 1s (list), 0 objects, 2 lists, 0 watches; 2 errors since the last success; last error: one; two": {
			Phase: cache.PhaseBackingOff, PhaseSince: at, PhaseAge: time.Second, Mode: cache.ListModeList, Lists: 2, Attempts: 2,
			Degraded: []string{"2 errors since the last success"}, LastError: errors.Join(errors.New("one"), errors.New("two"))},
		"backing off, 0 objects, 0 lists, 0 watches": {Phase: cache.PhaseBackingOff, Attempts: 1}, // nobody's, but it must not print nil
	} {
		for _, verb := range []string{"%v", "%+v", "%s"} {
			assert.Equal(t, want, fmt.Sprintf(verb, s), verb)
			assert.Equal(t, want, fmt.Sprintf(verb, &s), verb)
		}
		for name, line := range logLines(s) {
			assert.NotContains(t, line, "nil", name)
			assert.Contains(t, line, fmt.Sprintf("%q", want), name)
		}
	}
}

// logLines is what loggers make of a value.
func logLines(value any) map[string]string {
	var klogs, slogs, funcs bytes.Buffer
	textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&klogs))).Info("said", "status", value)
	slog.New(slog.NewTextHandler(&slogs, nil)).Info("said", "status", value)
	funcr.New(func(_, args string) { funcs.WriteString(args) }, funcr.Options{}).Info("said", "status", value)
	return map[string]string{"klog": klogs.String(), "slog": slogs.String(), "funcr": funcs.String()}
}
