// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
)

// Informer is what can be audited: an informer or controller of package cache that has a store, as
// its NewSharedIndexInformer and NewInformer make them, however it is handed out (see
// inspect.StatusOf).
type Informer interface{ HasSyncedChecker() cache.DoneChecker }

// Options say how to audit. The zero value compares versions and repairs nothing. For Run it does
// so each half an hour, and logs what differs.
type Options struct {
	// Depth says how much of each object is compared.
	Depth Depth
	// Source lists in place of the informer's ListerWatcher, for Versions. A metadata client is
	// sent a third of the bytes or less. Source must list the same namespace, by the same
	// selectors, as the informer.
	Source cache.ListerWithContext
	// Repair is what is done about what differs.
	Repair Repair
	// Every is the mean time between two audits of Run; each wait is between half of it and one and
	// a half times that. 0 means 30 minutes, and the least is a minute. For an audit, a server
	// decodes each object, as for a relist.
	Every time.Duration
	// OnReport, if not nil, is called by Run after each audit, in its goroutine, with what Once
	// returns. If it is nil, Run logs what differs, whether or not that could be confirmed, and, at
	// V(2), audits that fail before they find anything.
	OnReport func(Report, error)
}

// Depth says how much of each object is compared.
type Depth int

const (
	// Versions compares key, UID and resourceVersion.
	Versions Depth = iota
	// Content also compares the whole of each object, by what apimachinery calls semantically
	// equal: no value and an empty one are the same. A transform function is called for a copy of
	// each listed object, beside the calls of the informer, and must make the same of the same
	// object each time.
	Content
)

func (d Depth) String() string {
	if d == Content {
		return "content"
	}
	return "versions"
}

// Repair is what is done about what differs.
type Repair int

const (
	// NoRepair only reports.
	NoRepair Repair = iota
	// Relist makes the informer request the whole state again, as kinformer.Relist does, if findings
	// are confirmed. The informer requests the most recent state, even if that is older than the
	// cached one. There is at most one relist an hour for an informer, whoever audits it, because
	// what a relist does not repair would make it list for ever.
	Relist
)

const (
	defaultEvery = 30 * time.Minute
	// leastEvery keeps audits from being lists without end.
	leastEvery = time.Minute
	// repairPause is the least time between two relists: an hour's worth of wrong relists costs a
	// server less than one restart of the program.
	repairPause = time.Hour
)

// ErrUnsupported says that the server does not list as of a resourceVersion, as aggregated servers
// and fakes may not. So there is no state with which the cache could be compared.
var ErrUnsupported = errors.New("the server does not list as of a resourceVersion")

// ErrExpired says that three versions of the cache could not be compared, because the server had
// forgotten them, or did not know some of them yet. If it does not know any of the three, the cache
// is Ahead.
var ErrExpired = errors.New("no version of the cache could be compared")

var (
	// ErrUnvouched says that the cache has no version that the server vouches for, as where lists
	// have none, until the watch brings one.
	ErrUnvouched = door.ErrUnvouched
	// ErrUnsynced says that the informer has not synced: there is nothing to be audited yet.
	ErrUnsynced = door.ErrUnsynced
	// ErrEnded says that the informer has stopped: the cache is not kept up to date any more.
	ErrEnded = door.ErrEnded
)

var errSourceContent = errors.New("audit: Options.Source is for Versions: Content compares what the informer's ListerWatcher lists")

// check says what is wrong with the options.
func (o *Options) check() error {
	switch {
	case o.Depth == Content && o.Source != nil:
		return errSourceContent
	case o.Depth != Versions && o.Depth != Content:
		return fmt.Errorf("audit: Options.Depth is %d, neither Versions nor Content", o.Depth)
	case o.Repair != NoRepair && o.Repair != Relist:
		return fmt.Errorf("audit: Options.Repair is %d, neither NoRepair nor Relist", o.Repair)
	case o.Every != 0 && o.Every < leastEvery:
		return fmt.Errorf("audit: Options.Every is %s, less than %s", o.Every, leastEvery)
	}
	return nil
}
