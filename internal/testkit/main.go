// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/minor"
)

// RunTests runs the tests of a package, and fails if a goroutine is left.
func RunTests(m *testing.M) {
	flag.Parse()
	klog.SetLogger(funcr.New(processLog.write, funcr.Options{}))
	goleak.VerifyTestMain(m)
}

// processLog receives all of klog's output at V(0). Tests must not change klog's logger, because
// goroutines of other tests may still use it; they call CaptureLog instead. The output is shown
// with -v only, so that the messages of a failing test are not lost in it.
var processLog tap

type tap struct{ listener atomic.Pointer[Logged] }

func (l *tap) write(prefix, args string) {
	if testing.Verbose() {
		fmt.Fprintln(os.Stderr, prefix, args)
	}
	if listener := l.listener.Load(); listener != nil {
		listener.Write(prefix, args)
	}
}

// CaptureLog also sends the log at V(0) to the result, until the test ends.
func CaptureLog(t *testing.T) *Logged {
	t.Helper()
	lines := &Logged{}
	processLog.listener.Store(lines)
	t.Cleanup(func() { processLog.listener.Store(nil) })
	return lines
}

// About returns the texts that contain what.
func About(what string, texts []string) (found []string) {
	for _, text := range texts {
		if strings.Contains(text, what) {
			found = append(found, text)
		}
	}
	return found
}

// AtNight skips a test of load or of bounds, or one that runs the go command for long, unless
// KINFORMER_NIGHT is set, as make nightly does.
func AtNight(t testing.TB) {
	t.Helper()
	if Runs(0, 1) == 0 {
		t.Skip("for the night: set KINFORMER_NIGHT=1")
	}
}

// Runs returns how often a test does something: by day, or at night, when KINFORMER_NIGHT is set.
func Runs(day, night int) int {
	if os.Getenv("KINFORMER_NIGHT") == "" {
		return day
	}
	return night
}

// AsClientGoAdaptsIt returns the untyped handler that AddTypedEventHandler passes to an informer.
func AsClientGoAdaptsIt(t *testing.T, handler minor.TypedResourceEventHandler[*corev1.Pod]) clientgo.ResourceEventHandler {
	caught := &catcher{}
	_, err := minor.NewTypedSharedIndexInformer[*corev1.Pod](caught).AddTypedEventHandler(handler)
	require.NoError(t, err)
	return caught.handler
}

type catcher struct {
	clientgo.SharedIndexInformer
	handler clientgo.ResourceEventHandler
}

func (c *catcher) AddEventHandlerWithOptions(handler clientgo.ResourceEventHandler, _ clientgo.HandlerOptions) (clientgo.ResourceEventHandlerRegistration, error) {
	c.handler = handler
	return nil, nil
}

// Gauges is a provider of metrics that keeps their last values.
type Gauges struct{ Depth, Version, Latencies Gauge }

// Gauge is a metric. Used as a histogram, it counts the observations.
type Gauge struct{ Last float64 }

func (g *Gauge) Set(v float64)   { g.Last = v }
func (g *Gauge) Observe(float64) { g.Last++ }

func (p *Gauges) NewQueuedItemMetric(clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	return &p.Depth
}

func (p *Gauges) NewStoreResourceVersionMetric(clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	return &p.Version
}

func (p *Gauges) NewProcessingLatencyMetric(clientgo.InformerNameAndResource) clientgo.HistogramMetric {
	return &p.Latencies
}

// Secret must not occur in any text.
const Secret = "hunter2"
