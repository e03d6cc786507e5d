// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerotel exports metrics and spans of the informers of a process to OpenTelemetry:
//
//	registration, err := kinformerotel.RegisterMetrics(otel.GetMeterProvider(), kinformerotel.Options{})
//	go kinformerotel.RunTraces(ctx, otel.GetTracerProvider(), kinformerotel.TraceOptions{})
//
// cover all informers that run, including those of factories, of the dynamic and the metadata
// client, and of controller-runtime. They cost nothing per event.
//
// # Metrics
//
// They are those of package kinformerprom and docs/observability.md, with names in OpenTelemetry's
// style: kinformer_objects is kinformer.objects, kinformer_handler_oldest_pending_seconds is
// kinformer.handler.oldest_pending in s, kinformer_memory_bytes is kinformer.memory.size in By, and
// _total is left out. Labels are attributes of the same names; those that are empty are left out.
//
// Observable instruments cannot be histograms. So a histogram or a summary has up to three counters
// instead: .sum in seconds, .count, and for a histogram .bucket with the attribute le, the number
// of those that took up to so many seconds, as in Prometheus.
//
// The SDK keeps 2000 sets of attributes of an instrument by default, and drops others into an
// overflow. A process with more informers, or handlers, sets its WithCardinalityLimit.
//
// # Traces
//
// There is a span for each list (kinformer.list, with all of its pages), each watch-list
// (kinformer.watch_list, up to its end mark), and each watch (kinformer.watch, from its opening
// on), with the attributes name, group, version, resource and objects, and of watches the reason
// why they have ended. Those that failed have the status Error. The requests of an informer up to
// the first that brought the whole state are children of a span kinformer.sync, which lasts from
// the beginning of the first one to the end of that one; if the informer stops before, its status
// is Error. All others are roots.
//
// A span is made when its request has ended. So it is not the parent of spans of an HTTP client,
// and a request that never ends has none.
package kinformerotel
