// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerprom exports metrics of the informers of a process to Prometheus:
//
//	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
//
// exports those of all running informers, including those of factories, of the dynamic and the metadata
// client, and of controller-runtime, whose registry is
// sigs.k8s.io/controller-runtime/pkg/metrics.Registry. NewInformerMetrics has client-go's own metrics
// of informers. dashboard.json is a dashboard for Grafana, rules.yml has alerts.
//
// # Labels
//
// Each metric of an informer has the labels group, version, resource, watched_namespace and server, as in
// inspect.Status. If the status has no resource, the label has the name of the objects in logs: a
// description (kinformer.Options.ObjectDescription), or their type. The series of an informer begin
// when it is about to send its first request, or waits for a list slot. With direct.Transport that
// request determines these labels; until then they are as without that transport, and server is "".
// name is that of kinformer.Options.Identifier. ordinal is "0" for the first informer with these
// values, "1" for a second one that runs at the same time, and so on. Informers that start together
// are ordered by their selectors. An informer keeps its ordinal while it runs; afterwards another
// informer may get it.
//
// handler and index have the names of handlers (kinformer.Delivery.Name, or the place of their code)
// and of indices. The first ones of an informer have their own values, up to a limit in Options; all
// others are summed under "other", which has the maximum of ages and of durations of running calls. No
// label value has more than 128 bytes, and none contains the name of an object, unless the program uses
// it in names or descriptions.
//
// An informer has at most about 60 series, and with default options 15 for each of 33 handlers, more
// if handlers of one name have several states, and 5 for each of 17 indices. An informer that has
// stopped has none.
//
// # Values
//
// Names end with their unit: seconds or bytes; counts have none. Names of counters end with _total.
// Counters start at 0 with their informer, and never decrease otherwise: the counts of a removed
// handler stay in the sum of its name, less what other handlers of that name count between the same
// two reads, such as one that replaces it. Some values are absent while they are 0:
// docs/observability.md lists them.
package kinformerprom
