// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinformerprom exports metrics of the informers of a process to Prometheus:
//
//	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
//
// exports those of all informers that run, including those of factories, of the dynamic and the
// metadata client, and of controller-runtime, whose registry is
// sigs.k8s.io/controller-runtime/pkg/metrics.Registry. NewInformerMetrics has the metrics that
// client-go itself has of informers. dashboard.json is a dashboard for Grafana, rules.yml are
// alerts.
//
// # Labels
//
// Each metric of an informer has the labels group, version, resource, namespace and server, as
// inspect.Status has them; where that does not know the resource, it is what logs call the objects: a
// description (kinformer.Options.ObjectDescription), or their type. The series of an informer begin with
// its first request, by which this is known. name is that of kinformer.Options.Identifier. ordinal is "0"
// for the first informer with these values, "1" for a second one that runs at the same time, and so on, in
// the order of their selectors if they begin together; an informer keeps it as long as it runs, and then another may get it.
//
// handler and index have the names of handlers (kinformer.Delivery.Name, or what their code says) and
// of indices. The first ones of an informer have a value of their own, up to a bound that Options
// sets; all others are added up under "other", where of ages and running calls the longest counts. No
// label has more than 128 bytes, and none has the name of an object, but what the program writes into
// names and descriptions.
//
// So an informer has at most about 60 values, and with default options 10 for each of 33 handlers
// and 5 for each of 17 indices. An informer that has stopped has none.
//
// # Values
//
// Names end with their unit: seconds and bytes are the only ones, and what is counted has none.
// Those that end with _total are counters. They start at 0 with their informer, and go down at no
// other time: what a removed handler had counted stays in the sum of its name. Some values are
// absent as long as they are 0: docs/observability.md says which.
package kinformerprom
