// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/cache"
)

// Options configures an audit. The zero value compares the key, the UID and the resourceVersion of
// each object, and repairs nothing.
type Options struct {
	// Content also compares the whole of each object, by apimachinery's semantic equality: an
	// absent value equals an empty one, except in types with unexported fields. A transform
	// function is called for a copy of each listed object, concurrently with the calls of the
	// informer, and must return the same result for the same object.
	Content bool
	// Source lists instead of the informer's ListerWatcher; it excludes Content. A metadata client
	// receives a third of the bytes or less. Source must list the same namespace, by the same
	// selectors, as the informer. It is refused for an informer of several sources, and by RunAll.
	Source cache.ListerWithContext
	// Repair makes the informer relist, as kinformer.Relist does, if findings are confirmed. The
	// informer lists the most recent state, even if that is older than the cached one. There is at
	// most one relist an hour for an informer, for all of its audits together: a difference that a
	// relist does not repair would otherwise cause relists for ever.
	Repair bool
}

// RunOptions configures Run and RunAll. With the zero value they audit each half an hour, with the
// zero Options, and log differences.
type RunOptions struct {
	Options
	// Every is the mean time between two audits; each wait is between half of it and one and a half
	// times that. 0 means 30 minutes; the minimum is a minute. For an audit, a server decodes each
	// object, as for a relist.
	Every time.Duration
	// OnReport, if not nil, is called after each audit with the results of Once: by Run in its own
	// goroutine, by RunAll in several, perhaps at the same time. If it is nil, confirmed differences,
	// and those of an audit that fails afterwards, are logged as warnings, an informer that RunAll
	// cannot audit as one too, and every other audit at V(2).
	OnReport func(Report, error)
}

const (
	defaultEvery = 30 * time.Minute
	// leastEvery prevents audits that list without pause.
	leastEvery = time.Minute
	// repairPause is the shortest time between two relists: one unnecessary relist an hour costs a
	// server less than one restart of the program.
	repairPause = time.Hour
)

// ErrUnsupported means that the server does not list at a given resourceVersion, as may be the case
// for aggregated servers and fakes. The cache then cannot be compared.
var ErrUnsupported = errors.New("the server does not list as of a resourceVersion")

// ErrExpired means that three versions of the cache could not be compared, because the server no
// longer had them, or did not know some of them yet. If it does not know any of the three, the
// cache is Ahead.
var ErrExpired = errors.New("no version of the cache could be compared")

var (
	// ErrUnvouched means that the cache has no version that the server has confirmed: lists may
	// have none, until the watch sends one. It is also returned if a source of an informer was
	// replaced during its audit.
	ErrUnvouched = errors.New("the server does not vouch for the version of what is stored")
	// ErrUnsynced means that the informer has not synced, so that there is nothing to audit.
	ErrUnsynced = errors.New("the informer has not synced")
	// ErrEnded means that the informer has stopped, so that the cache is no longer kept up to date.
	ErrEnded = errors.New("the informer has stopped")
)

// errSourceOfSeveral is the error for Options.Source where several collections are audited.
var errSourceOfSeveral = errors.New("audit: Options.Source lists one collection: leave it out, or audit each source or informer with its own")

var errSourceContent = errors.New("audit: Options.Source and Options.Content exclude each other: what the informer's ListerWatcher lists has the content")

// check returns an error for invalid options.
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
