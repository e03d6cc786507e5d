// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package outside

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GCTrace is the setting in a process's environment with which it tells of each garbage collection.
const GCTrace = "GODEBUG=gctrace=1"

// Collections are those of a process so far.
type Collections struct {
	Count int
	CPU   time.Duration
}

// Collector is the standard error of a process with GCTrace: it counts collections, and passes on
// what else is written.
type Collector struct {
	rest io.Writer

	mu struct {
		sync.Mutex
		line  []byte
		total Collections
	}
}

// NewCollector returns one that passes other lines on to rest.
func NewCollector(rest io.Writer) *Collector { return &Collector{rest: rest} }

// Collections returns what there was so far.
func (c *Collector) Collections() Collections {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.total
}

// Write takes what the process has written.
func (c *Collector) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.line = append(c.mu.line, text...)
	for {
		line, after, whole := bytes.Cut(c.mu.line, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if spent, is := spentBy(string(line)); is {
			c.mu.total.Count++
			c.mu.total.CPU += spent
		} else if _, err := c.rest.Write(append(bytes.Clone(line), '\n')); err != nil {
			return len(text), err
		}
		c.mu.line = append(c.mu.line[:0], after...)
	}
}

// cycle is a line of the runtime about a collection; what the cores did stands before " ms cpu".
var cycle = regexp.MustCompile(`^gc \d+ @\S+ \S+: .* ms clock, (\S+) ms cpu`)

// spentBy returns the CPU time of a collection, without that of idle cores.
//
//	gc 2 @0.1s 1%: 0.01+0.9+0.01 ms clock, 0.02+0.3/0.8/0.1+0.03 ms cpu, ...
//
// In the middle are assists, the background's work, and that of idle cores.
func spentBy(line string) (spent time.Duration, is bool) {
	match := cycle.FindStringSubmatch(line)
	if match == nil {
		return 0, false
	}
	for _, part := range strings.Split(match[1], "+") {
		for i, text := range strings.Split(part, "/") {
			if ms, err := strconv.ParseFloat(text, 64); err == nil && i < 2 {
				spent += time.Duration(ms * float64(time.Millisecond))
			}
		}
	}
	return spent, true
}
