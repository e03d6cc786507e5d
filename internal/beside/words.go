// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package beside has the functions that the packages beside the root share: relists, the table and
// the state of a store, and the words that describe an informer. Most begin at a door.Informer. A
// program that imports only the root package does not link it.
package beside

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// Named returns name with the informer's resource, if it does not contain that already, and its server.
func Named(i *door.Informer, name string) string { return WithResource(i, name) + At(i) }

// WithResource returns name with the informer's resource, if it does not contain that already.
func WithResource(i *door.Informer, name string) string {
	if !strings.Contains(name, i.Resource) {
		name += " of " + i.Resource
	}
	return name
}

// WithoutFields returns a text without the field selector that the name of an informer has in it, which may
// name an object.
func WithoutFields(text string) string {
	before, selector, found := strings.Cut(text, " with fields ")
	if !found {
		return text
	}
	if at := strings.Index(selector, ": "); at >= 0 {
		return before + selector[at:]
	}
	return before
}

// At returns " at " and the server of the informer, or "" if the server is not known.
func At(i *door.Informer) string {
	if server := i.Report.Server(); server != "" {
		return " at " + server
	}
	return ""
}

// DescribePhase describes a reflector's phase and for how long it lasts.
func DescribePhase(phase string, since time.Time, age time.Duration) string {
	switch {
	case phase == "" || phase == string(reflector.Unstarted):
		return "never run"
	case since.IsZero():
		return phase
	default:
		return fmt.Sprintf("%s for %v", phase, Shortly(age))
	}
}

// Hanging describes the request that hangs. Without a transport of package direct it is not known whether the
// client waits because the server has told it to.
func Hanging(r *reflector.Status) string {
	or := ""
	if !r.Transport && r.Hangs != "the watch" {
		or = ", or waits for Retry-After"
	}
	return fmt.Sprintf("%s hangs%s, nothing has come for %v", r.Hangs, or, Shortly(r.HangsFor))
}

// Counted returns a number with a noun, in the plural if necessary.
func Counted(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// Shortly rounds a duration for display.
func Shortly(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
