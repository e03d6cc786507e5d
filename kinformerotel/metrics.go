// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/metrics"
)

// scope is the name of the instrumentation.
const scope = "github.com/kinformer/cache/kinformerotel"

// Options bound what an informer adds to the metrics.
type Options struct {
	// MaxHandlers is the number of handler names of an informer that become values of the attribute
	// handler, and MaxIndices the number of index names that become values of the attribute index:
	// the first ones that are seen, for as long as the informer runs. All others are added up under
	// the value "other". 0 means 32 and 16; a negative number means none.
	MaxHandlers, MaxIndices int
}

// RegisterMetrics makes instruments for the metrics of all informers of package cache that run in
// the process, now or later. One callback reads them at each collection, in some 15 microseconds
// for each informer; they cost nothing at other times. Unregister ends that. The error is that of
// the provider.
//
// The package documentation says how metrics are named.
func RegisterMetrics(provider metric.MeterProvider, o Options) (metric.Registration, error) {
	meter := provider.Meter(scope)
	observers := map[*metrics.Metric]observer{}
	var instruments []metric.Observable
	var failed error
	for _, m := range metrics.All() {
		to, err := newObserver(meter, m)
		failed = errors.Join(failed, err)
		observers[m] = to
		instruments = append(instruments, to.instruments()...)
	}
	if failed != nil {
		return nil, failed
	}
	reader := metrics.NewReader(metrics.Options(o))
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		reader.Read(func(s metrics.Sample) { observers[s.Metric].observe(to, s) })
		return nil
	}, instruments...)
}

// observer has the instruments of a metric: one, or of a Summary or Histogram the first three, or
// all but value.
type observer struct {
	value                metric.Float64Observable
	seconds              metric.Float64Observable
	count, countByBounds metric.Int64Observable
}

func newObserver(meter metric.Meter, m *metrics.Metric) (o observer, err error) {
	name, help := instrumentName(m), metric.WithDescription(m.Help)
	switch m.Kind {
	case metrics.Summary, metrics.Histogram:
		return newTimes(meter, m, name)
	case metrics.Counter:
		o.value, err = meter.Float64ObservableCounter(name, help, metric.WithUnit(m.Unit))
	case metrics.Gauge:
		if m.Unit == "s" || m.Unit == "1" {
			o.value, err = meter.Float64ObservableGauge(name, help, metric.WithUnit(m.Unit))
		} else {
			o.value, err = meter.Float64ObservableUpDownCounter(name, help, metric.WithUnit(m.Unit))
		}
	}
	return o, err
}

// newTimes makes the instruments of a metric that tells how long things took: their sum and
// number, and of a histogram the number of those up to each bound.
func newTimes(meter metric.Meter, m *metrics.Metric, name string) (o observer, err error) {
	seconds, err := meter.Float64ObservableCounter(name+".sum", metric.WithDescription(m.Help+" Their sum."), metric.WithUnit("s"))
	number, failed := meter.Int64ObservableCounter(name+".count", metric.WithDescription(m.Help+" Their number."), metric.WithUnit("1"))
	o, err = observer{seconds: seconds, count: number}, errors.Join(err, failed)
	if m.Kind == metrics.Histogram {
		o.countByBounds, failed = meter.Int64ObservableCounter(name+".bucket", metric.WithUnit("1"),
			metric.WithDescription(m.Help+" The number of those up to the seconds that the attribute le says."))
	}
	return o, errors.Join(err, failed)
}

func (o observer) instruments() (all []metric.Observable) {
	for _, i := range []metric.Observable{o.value, o.seconds, o.count, o.countByBounds} {
		if i != nil {
			all = append(all, i)
		}
	}
	return all
}

// observe hands out a sample.
func (o observer) observe(to metric.Observer, s metrics.Sample) {
	form := formOf(s.Series)
	if s.Times == nil {
		to.ObserveFloat64(o.value, s.Value, form.all)
		return
	}
	to.ObserveFloat64(o.seconds, s.Times.Seconds, form.all)
	to.ObserveInt64(o.count, int64(s.Times.Count), form.all)
	sum := uint64(0)
	for i, n := range s.Times.Buckets {
		sum += n
		to.ObserveInt64(o.countByBounds, int64(sum), form.upTo(i))
	}
}

// form is a series in the form that instruments take.
type form struct {
	attributes []attribute.KeyValue
	all        metric.MeasurementOption
	bounds     []metric.MeasurementOption // with le; made when they are asked for
}

// formOf returns the attributes of a series: its labels that are not empty.
func formOf(s *metrics.Series) *form {
	if made, ok := s.Form.(*form); ok {
		return made
	}
	f := &form{attributes: attributesOf(s.Labels)}
	f.all = metric.WithAttributeSet(attribute.NewSet(f.attributes...))
	s.Form = f
	return f
}

func attributesOf(labels []metrics.Label) (attributes []attribute.KeyValue) {
	for _, l := range labels {
		if l.Value != "" {
			attributes = append(attributes, attribute.String(l.Name, l.Value))
		}
	}
	return attributes
}

// upTo returns the attributes of a bucket of a histogram.
func (f *form) upTo(bucket int) metric.MeasurementOption {
	if f.bounds == nil {
		for _, bound := range append(cache.CallTimeBounds(), -1) {
			of := append(append([]attribute.KeyValue{}, f.attributes...), attribute.String("le", boundText(bound)))
			f.bounds = append(f.bounds, metric.WithAttributeSet(attribute.NewSet(of...)))
		}
	}
	return f.bounds[bucket]
}

// boundText is a bound in seconds; a negative one is none.
func boundText(bound time.Duration) string {
	if bound < 0 {
		return "+Inf"
	}
	return strconv.FormatFloat(bound.Seconds(), 'g', -1, 64)
}

// instrumentName returns the name that OpenTelemetry gives a metric: its parts with dots, and
// without _total and the seconds, which the unit tells.
func instrumentName(m *metrics.Metric) string {
	name := strings.TrimSuffix(strings.TrimPrefix(m.Name, "kinformer_"), "_total")
	switch m.Unit {
	case "s":
		name = strings.TrimSuffix(name, "_seconds")
	case "By":
		name = strings.TrimSuffix(name, "_bytes") + ".size"
	}
	for _, part := range []string{"handler", "index", "queue", "list", "watch", "decode", "shared_texts", "shared_parts"} {
		if rest, is := strings.CutPrefix(name, part+"_"); is {
			name = part + "." + rest
		}
	}
	return "kinformer." + name
}
