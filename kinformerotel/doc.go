// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerotel exports spans of the informers of a process to OpenTelemetry:
//
//	go kinformerotel.RunTraces(ctx, otel.GetTracerProvider(), kinformerotel.TraceOptions{})
//
// covers all running informers, including those of factories, of the dynamic and the metadata client,
// and of controller-runtime. It costs nothing per event.
//
// Metrics come from package kinformerprom, through OpenTelemetry's own bridge
// (go.opentelemetry.io/contrib/bridges/prometheus), as in examples/otel.
//
// There is a span for each list (kinformer.list, with all of its pages), each watch-list
// (kinformer.watch_list, up to its end mark), and each watch (kinformer.watch, from its opening), with
// the attributes name, group, version, resource and objects, and for watches the reason of their end.
// Failed requests have the status Error. The requests of an informer up to the first complete list or
// watch-list are children of a span kinformer.sync, which lasts from the beginning of the first request
// to the end of the last one; if the informer stops before, the status of the span is Error. All other
// spans are roots.
//
// A span is made when its request has ended. So it is not the parent of spans of an HTTP client, and a
// request that never ends has no span.
package kinformerotel
