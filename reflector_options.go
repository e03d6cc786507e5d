// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/naming"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// leastWatchTimeout is the shortest watch that is asked for. Each end of a watch costs the server a new one, and
	// shorter timeouts were seen to hurt control planes; it is client-go's value, and servers are sized for it.
	leastWatchTimeout = 5 * time.Minute

	// The delays grow from 0.8 s to a cap of 30 s, doubled by the jitter at most, so that a sick server sees one request
	// in 30-60 s from each reflector, a fiftieth of what it gets without backoff. 2 minutes without a delay count as
	// healthy and begin a new series.
	backoffFirst  = 800 * time.Millisecond
	backoffCap    = 30 * time.Second
	backoffFactor = 2.0
	backoffJitter = 1.0
	backoffReset  = 2 * time.Minute

	// internalErrorReset is how long after an internal error the next one counts as the first of a new series.
	internalErrorReset = time.Minute

	// veryShortWatch is the age below which a watch that closes without an event is taken for a fault of the server.
	veryShortWatch = time.Second

	// streamStrikes is how many watch-list streams in a row may end without their end mark until a round falls back to
	// LIST: one is an accident, three are a proxy or a server that cannot stream.
	streamStrikes = 3
	// listPreference is how long LIST replaces watch-lists after that: long enough to spare a server that cannot stream the
	// attempts of each round, short enough to notice that it was upgraded.
	listPreference = 10 * time.Minute
	// A watch-list stream that waits for its end mark is looked at each streamSilenceStep; a step without an event is
	// logged, and streamSilenceLimit without one ends the stream, unless an option says otherwise.
	streamSilenceStep  = 10 * time.Second
	streamSilenceLimit = 2 * time.Minute

	// maxRetryAfter bounds what a server's Retry-After is good for: a wrong one must not cost hours.
	maxRetryAfter = 5 * time.Minute

	// slowList is the duration from which fetching and storing the whole state is worth a line in the log.
	slowList = 10 * time.Second

	unspecifiedType = "<unspecified>"
)

// withDefaults fills what the zero value leaves open.
func (c reflectorConfig) withDefaults() reflectorConfig {
	if c.name == "" {
		c.name = callsiteName()
		if c.resource != "" {
			c.name = fmt.Sprintf("%s (%s)", c.resource, c.name)
		}
	}
	if c.typeDescription == "" {
		c.typeDescription = describeType(c.expectedType)
	}
	if c.tuning.backoff != nil {
		c.backoff = c.tuning.backoff
	}
	if c.tuning.pageSize != 0 {
		c.pageSize = c.tuning.pageSize
	}
	if c.backoff == nil {
		c.backoff = defaultBackoff()
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	if c.logger == nil {
		background := klog.Background()
		c.logger = &background
	}
	if c.report == nil {
		c.report = newReflectorReport()
	}
	if c.spawn == nil {
		c.spawn = func(f func()) { go f() }
	}
	return c
}

func defaultBackoff() *wait.Backoff {
	return &wait.Backoff{
		Duration: backoffFirst,
		Cap:      backoffCap,
		Steps:    int(math.Ceil(float64(backoffCap) / float64(backoffFirst))), // more than it takes to reach the cap
		Factor:   backoffFactor,
		Jitter:   backoffJitter,
	}
}

// watchTimeouts is the range of the timeouts that watches are given, so that many reflectors do not reconnect at once.
type watchTimeouts struct{ min, max time.Duration }

func watchTimeoutsFrom(least time.Duration) watchTimeouts {
	least = max(least, leastWatchTimeout)
	return watchTimeouts{min: least, max: 2 * least}
}

// seconds draws a timeout, in the form of ListOptions.TimeoutSeconds.
func (t watchTimeouts) seconds() *int64 {
	span := t.max - t.min
	drawn := int64((t.min + time.Duration(rand.Float64()*float64(span))).Seconds())
	return &drawn
}

// describeType says in words what the example stands for: its kind if it is unstructured and has one, else its Go type.
func describeType(example any) string {
	if example == nil {
		return unspecifiedType
	}
	if gvk := unstructuredKind(example); gvk != nil {
		return gvk.String()
	}
	return reflect.TypeOf(example).String()
}

// resourceName is how an informer, its queue and its reflector call what they hold: resource.version.group where it was told,
// else what its objects are.
func resourceName(gvr schema.GroupVersionResource, description string, example any) string {
	if gvr.Resource == "" {
		return cmp.Or(description, describeType(example))
	}
	return strings.TrimRight(gvr.Resource+"."+gvr.Version+"."+gvr.Group, ".")
}

// callsiteName is file:line of the nearest caller outside of this package and of client-go's tools/cache.
func callsiteName() string {
	return naming.GetNameFromCallsite(append(ownFilesOnStack(), "client-go/tools/cache/")...)
}

// ownFilesOnStack lists the files of this package that the present call goes through, tests left out. Files are told
// by the function's package, which holds wherever the module was unpacked and however it was built.
func ownFilesOnStack() []string {
	const depth = 32 // more than naming looks at
	pcs := make([]uintptr, depth)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	own := reflect.TypeFor[reflector]().PkgPath() + "."
	var files []string
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, own) && !strings.HasSuffix(frame.File, "_test.go") {
			files = append(files, frame.File)
		}
		if !more {
			return files
		}
	}
}
