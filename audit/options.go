// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache"
)

// Informer is what can be audited: an informer or controller of package cache that has a store, as
// its NewSharedIndexInformer and NewInformer make them, however it is handed out (see
// inspect.StatusOf), or a source of package sources.
type Informer interface{ HasSyncedChecker() cache.DoneChecker }

// Options say how to audit. The zero value compares the key, the UID and the resourceVersion of each
// object, and repairs nothing.
type Options struct {
	// Content has the audit also compare the whole of each object, by what apimachinery calls
	// semantically equal: no value and an empty one are the same. A transform function is called for
	// a copy of each listed object, beside the calls of the informer, and must make the same of the
	// same object each time.
	Content bool
	// Source lists in place of the informer's ListerWatcher; it excludes Content. A metadata client
	// is sent a third of the bytes or less. Source must list the same namespace, by the same
	// selectors, as the informer.
	Source cache.ListerWithContext
	// Repair makes the informer request the whole state again, as kinformer.Relist does, if findings
	// are confirmed. The informer requests the most recent state, even if that is older than the
	// cached one. There is at most one relist an hour for an informer, whoever audits it, because
	// what a relist does not repair would make it list for ever.
	Repair bool
}

// RunOptions say how Run audits. The zero value does so each half an hour, as the zero Options say,
// and logs what differs.
type RunOptions struct {
	Options
	// Every is the mean time between two audits; each wait is between half of it and one and a half
	// times that. 0 means 30 minutes, and the least is a minute. For an audit, a server decodes each
	// object, as for a relist.
	Every time.Duration
	// OnReport, if not nil, is called after each audit, in the goroutine of Run, with what Once
	// returns. If it is nil, Run logs what differs, whether or not that could be confirmed, and, at
	// V(2), audits that fail before they find anything.
	OnReport func(Report, error)
}

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
	// have none, until the watch brings one; or that a source of an informer was replaced during its
	// audit. An informer of package sources never has a version for all, and is refused at once: its
	// sources can be audited.
	ErrUnvouched = errors.New("the server does not vouch for the version of what is stored")
	// ErrUnsynced says that the informer has not synced: there is nothing to be audited yet.
	ErrUnsynced = errors.New("the informer has not synced")
	// ErrEnded says that the informer has stopped: the cache is not kept up to date any more.
	ErrEnded = errors.New("the informer has stopped")
)

var errSourceContent = errors.New("audit: Options.Source and Options.Content exclude each other: what the informer's ListerWatcher lists has the content")

// check says what is wrong with the options.
func (o *Options) check() error {
	if o.Content && o.Source != nil {
		return errSourceContent
	}
	return nil
}

func (o *RunOptions) check() error {
	if o.Every != 0 && o.Every < leastEvery {
		return fmt.Errorf("audit: RunOptions.Every is %s, less than %s", o.Every, leastEvery)
	}
	return o.Options.check()
}
