// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// Status describes what an informer does, and how well, at the time of the call that returned it.
// It is a copy.
type Status struct {
	// At is when the status was taken.
	At time.Time
	// Resource is what the informer asks for, and Namespace and the selectors are those of its requests,
	// empty for all; Server has host and port, and what a path has before /api or /apis. They are those of
	// the first request if that went through a transport of package direct, and in part also without it
	// if its ListerWatcher is direct.NewListWatch's. Otherwise Resource is that of
	// kinformer.Options.Identifier or of package factory, Namespace that of Requests.ExpectedNamespace or
	// of package factory, and the rest is empty. Of an informer of several sources, what they do not have
	// in common is empty.
	Resource                     schema.GroupVersionResource
	Namespace, Server            string
	LabelSelector, FieldSelector string
	// Phase is what the informer's reflector does, and PhaseSince when it began to; zero before Run.
	// It is "new" (Run was not called), "waiting for a list slot" (for one of its ListSlots),
	// "listing", "streaming" (a watch-list has not come to its end mark), PhaseWatching (a watch is
	// being opened, or is open), "backing off" (no request is in progress; the next one is due
	// later) or PhaseStopped.
	Phase      string
	PhaseSince time.Time
	// Mode is how the informer requests, or last requested, the whole state: "list" or "watch-list".
	// "" before the first request.
	Mode string
	// ResourceVersion is the version from which the next watch would start; the store may not have
	// come to it yet. "" before the first list.
	ResourceVersion string
	// Synced reports whether the first list is in the store.
	Synced bool
	// LastError is the last error of a request or a watch, nil if there was none. It stays when
	// requests succeed again: Attempts says whether they do. Errors that are part of a working
	// connection, such as the end of a watch, do not count. It is the original error without parts
	// that hold an object or are larger than 4 KiB; errors.Is and errors.As find the rest.
	LastError error
	// LastErrorAt is when LastError came; zero if there was none.
	LastErrorAt time.Time
	// Attempts counts the errors since a watch, or a watch-list up to its end mark, last succeeded.
	// A watch-list that fails and the list that replaces it count once.
	Attempts int
	// Reconnects counts how often the informer was fresh again after its server had been out of
	// reach, that is, had not answered, or had answered that it serves nobody now (5xx, 429). Fresh
	// means that a list has arrived, or that a watch goes on from the cached version.
	Reconnects int64
	// LastOutageAt is when the server was last found out of reach, and LastOutage for how long the
	// informer was blind, up to when it was fresh again, or has been so far; then Problems say so.
	// Zero and 0 if it never was.
	LastOutageAt time.Time
	LastOutage   time.Duration
	// LastEvent is when a watch event or a bookmark last came; zero before the first. Servers send a
	// bookmark each minute or so, even if nothing changes.
	LastEvent time.Time
	// Objects counts the objects in the store. It is 0 for a Controller of New, whose store is not
	// known here.
	Objects int
	// Lists counts the LIST requests so far, one for each page. Watches counts the watch requests,
	// including watch-lists.
	Lists, Watches int64
	// Dropped counts the list items and watch events so far that were left out, because they were
	// no objects, or not of the informer's type or namespace (see Requests.ExpectedNamespace). Each was
	// reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers; those of one page of a list
	// were reported together.
	Dropped int64
	// Decoding says whether the informer itself decodes what the server sends; see Decoding and
	// package direct.
	Decoding Decoding
	// Problems are what is wrong. There are none if all is well.
	Problems []Problem
}

// Problem is something that is not as it should be.
type Problem struct {
	// Cause is a word of few: "unfit" (it cannot run), "stopped" (by
	// its error policy), "outage", "hangs" (a list has brought nothing for a minute, a watch is not
	// open after a minute, or brings no bookmark for five minutes although bookmarks had come; of a
	// list that comes through no transport of package direct only whole pages are seen, so that it
	// hangs after five minutes), "errors", "refused" (the server does not know the last
	// resourceVersion), "dropped" (objects of another type or namespace), "fallback" (LIST instead
	// of watch-list), "silent" (the watch was), "index" (objects are missing from one), "transform"
	// (it refused objects), "audit" (the last audit has found objects that are not as on the
	// server, or that the cache is ahead of it), "decoding-suspended" and "decoding-off" (direct
	// decoding is, until the client has decoded a list, or for good), "mutation" (somebody has
	// written to cached objects that share parts).
	Cause string
	// Text says it in words.
	Text string
}

// Decoding describes how an informer decodes what the server sends; see kinformer.Decoding.
type Decoding struct {
	// On reports whether the informer itself decodes what its last list or watch brings. If so,
	// Encoding is "json" or "protobuf"; otherwise Why is the reason. Encoding and Why are empty
	// before the first request. Why begins with "suspended: " or "off for good: " if the informer
	// found a fault in what it had decoded, or in a list.
	On            bool
	Encoding, Why string
	// Transport reports whether a transport of package direct has sent a request, so that the program
	// wants it on.
	Transport bool
	// Direct counts the objects so far that were decoded directly.
	Direct int64
	// Reused counts the objects so far that came again as they were, as in a relist, and were not
	// decoded, because the informer has them already; see kinformer.Decoding.ShareParts.
	Reused int64
	// GivenUp counts the objects that the informer left to the client, by reason. There are few
	// reasons, and they quote no data.
	GivenUp map[string]int64
	// Verified is how the comparison with what the client decodes has gone.
	Verified Verification
	// Texts describes the table of strings, such as labels and names, that the objects of all
	// informers of the process share. It has nothing from the data of Secrets. It is zero unless the
	// informer runs and uses the table, which is freed with the last informer that does.
	Texts Table
	// Shared describes the equal parts that objects share.
	Shared Sharing
}

// Verification counts the objects that both the informer and the client have decoded.
type Verification struct {
	Objects int64
	// Differences counts those that were not the same, or that the ListerWatcher had changed.
	Differences int64
}

// Sharing describes whether the objects of an informer share equal parts; see kinformer.Decoding.ShareParts.
type Sharing struct {
	// On reports whether they do. If that was asked for and they do not, Why is the reason.
	On  bool
	Why string
	// Parts describes the table of these parts, for all informers of the process, under the same
	// conditions as Decoding.Texts.
	Parts Table
	// Checked counts the shared parts of this informer's objects that were decoded again and
	// compared, about one in a thousand of those that were found. Mutations counts those of them
	// that somebody had written to, against the rule of ShareParts. Mutation describes the first:
	// its place and type, and nothing of its contents. New objects no longer share such a part.
	Checked, Mutations int64
	Mutation           string
}

// Table describes a table of what objects of a process share.
type Table struct {
	Count int64 // of texts or parts
	Bytes int64 // what they and the table take, by an estimate
	Limit int64 // of Bytes
	// Hits counts the parts of objects that were found in the table, Misses those that were not.
	// They are not counted for texts.
	Hits, Misses int64
}

// What Status.Phase is compared with.
const (
	// PhaseWatching: a watch is being opened, or is open.
	PhaseWatching = string(reflector.Watching)
	// PhaseStopped: the context of Run has ended, or an ErrorPolicy has stopped the informer.
	PhaseStopped = string(reflector.Stopped)
)

// ErrForeign says that an informer, a queue or a registration is not one of package cache, so nothing
// is known about it.
var ErrForeign = door.ErrForeign

// Syncer is what syncs: an informer or a controller, or the registration of a handler.
type Syncer = interface{ HasSyncedChecker() clientgo.DoneChecker }

// StatusOf returns the status of an informer or controller of package cache, however you got it: as
// a typed informer of a generated factory, as an informer of controller-runtime's cache (except one
// for several namespaces, which has several), or in a wrapper with a GetController method. For
// others the error is ErrForeign. It may be called at any time, and delays nothing.
func StatusOf(informer Syncer) (Status, error) {
	own := door.Of(informer)
	if own == nil {
		return Status{}, ErrForeign
	}
	return statusOf(own), nil
}
