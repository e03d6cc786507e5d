// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/kinformer/cache/internal/provider"

// SetInformerMetricsProvider sets the provider of the metrics of every queue and store made
// afterwards that is not given one of its own. The first call in the process wins; later ones, and
// nil, do nothing. It may be called from any goroutine.
//
// The call is forwarded to client-go, so that informers of both libraries report to the same
// provider. A program that sets its provider on client-go alone, as importing
// k8s.io/component-base/metrics/prometheus/clientgo does, need not call it: what has no provider
// here reports to that one. The log says once if an informer has a name for metrics and there is no
// provider anywhere.
func SetInformerMetricsProvider(given InformerMetricsProvider) { provider.Set(given) }
