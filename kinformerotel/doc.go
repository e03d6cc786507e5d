// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerotel exports spans of the informers of a process to OpenTelemetry:
//
//	go kinformerotel.RunTraces(ctx, otel.GetTracerProvider(), kinformerotel.TraceOptions{})
//
// covers all informers that run, including those of factories, of the dynamic and the metadata
// client, and of controller-runtime. It costs nothing per event.
//
// Metrics come from package kinformerprom, by OpenTelemetry's own bridge
// (go.opentelemetry.io/contrib/bridges/prometheus): examples/otel shows how.
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
