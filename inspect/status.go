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

// Status describes the present state of an informer. It is a copy.
type Status struct {
	// At is when the status was taken.
	At time.Time
	// Resource is the requested resource. Namespace and the selectors are those of the requests,
	// and empty for all. Server has the host and port, and the path before /api or /apis, if any.
	// They are those of the first request if it went through a transport of package direct, and in
	// part also without one if the ListerWatcher is direct.NewListWatch's. Otherwise Resource is
	// that of kinformer.Options.Identifier or of package factory, Namespace that of
	// Requests.ExpectedNamespace or of package factory, and the rest is empty. An informer of
	// package sources has no namespace and no selectors here, even with a single source, and its
	// Server is empty once two of its sources have asked different servers.
	Resource                     schema.GroupVersionResource
	Namespace, Server            string
	LabelSelector, FieldSelector string
	// Phase is the phase of the informer's reflector, and PhaseSince its beginning, zero before
	// Run and without sources. It is "new" (Run was not called), "waiting for a list slot" (of its ListSlots),
	// "listing", "streaming" (a watch-list has not reached its end mark), PhaseWatching (a watch is
	// being opened, or is open), "backing off" (no request is in progress; the next one is due
	// later), "without sources" (of an informer of package sources that runs and has none) or
	// PhaseStopped.
	Phase      string
	PhaseSince time.Time
	// Mode is the way in which the informer lists, or last listed, the collection: "list" or
	// "watch-list". It is "" before it first lists or waits for a list slot.
	Mode string
	// ResourceVersion is the version from which the next watch would start; the store may not have
	// reached it. It is "" before the first list.
	ResourceVersion string
	// Synced reports whether the first list is in the store.
	Synced bool
	// LastError is the last error of a request or a watch, or nil. It is kept when requests succeed
	// again; Attempts shows whether they do. Errors that are part of a working connection, such as
	// the end of a watch, do not count. It is the original error without the parts that hold an
	// object or are larger than 4 KiB; errors.Is and errors.As find the rest.
	LastError error
	// LastErrorReason is the word of the log for LastError, or "": "unauthorized", "forbidden",
	// "not-found", "refused" (the server does not know the version yet), "silent" (a watch-list),
	// "panic", or a key of Inspection.WatchEnds.
	LastErrorReason string
	// LastErrorAt is when LastError occurred; zero if there was none.
	LastErrorAt time.Time
	// Attempts is the number of errors since a watch, or a watch-list up to its end mark, last
	// succeeded. A watch-list that fails and the list that replaces it count once.
	Attempts int
	// Reconnects is the number of times that the informer was up to date again after its server had
	// been out of reach, that is, had not answered, or had answered that it can serve no request
	// now (5xx, 429). The informer is up to date when a list has arrived, or when a watch continues
	// from the cached version.
	Reconnects int64
	// LastOutageAt is when the server was last found out of reach, and LastOutage how long the
	// informer was out of date since then; while the outage lasts, Problems says so. Of several
	// sources they are those of the outage that began last. They are zero if there was no outage.
	LastOutageAt time.Time
	LastOutage   time.Duration
	// LastEvent is when the last watch event or bookmark was received; zero before the first.
	// Servers send a bookmark each minute or so, even if nothing changes.
	LastEvent time.Time
	// Objects is the number of objects in the store. It is 0 for a Controller of New, whose store
	// is not known here.
	Objects int
	// Lists is the number of LIST requests so far, one for each page. Watches is the number of
	// watch requests, including watch-lists.
	Lists, Watches int64
	// Dropped is the number of list items and watch events that were left out so far, because they
	// were not objects, or not of the informer's type or namespace (see
	// Requests.ExpectedNamespace). Each was reported to
	// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers; those of one page of a list were reported
	// together.
	Dropped int64
	// Confirmed is the number of lists that were sent because the answer before would have removed more
	// than half of 20 objects or more. That answer was dropped, and the list applied.
	Confirmed int64
	// Undecodable is the number of objects whose newest version is left out because no decoder can read
	// it (kinformer.Errors.SkipUndecodable), and UndecodableObjects has the first eight of them, by key.
	Undecodable        int
	UndecodableObjects []UndecodableObject
	// Decoding describes whether the informer decodes the server's answers itself; see Decoding and
	// package direct.
	Decoding Decoding
	// Problems lists the current problems. It is empty if there are none.
	Problems []Problem
}

// Problem is a problem of an informer.
type Problem struct {
	// Cause is one of a few words: "unfit" (the informer cannot run), "stopped" (by its error
	// policy), "outage", "hangs" (a list has sent nothing for a minute; or a watch is not open
	// after a minute, or is still open half a minute after its own timeout and sends nothing,
	// although a watch has sent bookmarks before; without a transport of package direct only whole
	// pages of a list are visible, so that a list hangs after five minutes), "throttled" (the server
	// has told the client to wait), "errors", "refused" (the server does not know the last
	// resourceVersion), "dropped" (objects of another type or namespace), "fallback" (LIST instead
	// of watch-list), "unsharded" (the server also sends objects of other shards), "anew" (each watch
	// begins with all present objects, so that lists have to find what was deleted between two
	// watches), "silent" (the watch was), "index" (objects are missing from an index), "transform"
	// (it refused objects), "audit" (the last audit has found objects that differ from the server,
	// or a cache that is ahead of it), "decoding-suspended" and "decoding-off" (direct decoding is
	// off, until the client has decoded a list, until the next watch, or for good), "mutation" (the
	// program has modified cached objects that share parts), "undecodable" (objects cannot be
	// decoded), "undecodable-off" (such objects are not left out, although Errors.SkipUndecodable is
	// set, because the client decodes), "unguarded" (see docs/keep.md).
	Cause string
	// Text describes the problem.
	Text string
}

// Decoding describes how an informer decodes the server's answers; see kinformer.Decoding.
type Decoding struct {
	// On reports whether the informer itself decodes its last list or watch. If so, Encoding is
	// "json" or "protobuf"; otherwise Why is the reason. Encoding and Why are empty before the
	// first request. Why begins with "suspended: " or "off for good: " if the informer found a
	// fault in a decoded object or in a list.
	On            bool
	Encoding, Why string
	// Reason is a word for Why, and "" if Why is: "no-transport" (package direct is not
	// imported, or no transport of it has seen the request), "switched-off" (by the option Off or by
	// KINFORMER_DIRECT), "log-level" (klog writes bodies), "suspended", "off-for-good", "off-for-a-watch" (the
	// client decodes the rest of the watch), "gave-up" (most objects could not be decoded), "no-decoder" (for
	// the type), "no-kind" (in objects of the type), "encoding", "lister-watcher" (it changes requests or
	// watches) or "other".
	Reason string
	// Transport reports whether a transport of package direct has sent a request, which shows that
	// the program wants direct decoding.
	Transport bool
	// Direct is the number of objects that were decoded directly so far.
	Direct int64
	// Reused is the number of objects that were received again unchanged, as in a relist, and were
	// not decoded, because the informer has them already; see kinformer.Decoding.ShareParts.
	Reused int64
	// GivenUp counts the objects that the informer left to the client, by reason. There are few
	// reasons, and they quote no data.
	GivenUp map[string]int64
	// Verified is the result of comparisons with the client's decoder.
	Verified Verification
	// Texts describes the table of strings, such as labels and names, that the objects of all
	// informers of the process share. The table has nothing from the data of Secrets. Texts is zero
	// unless the informer runs and uses the table, which is freed with the last informer that does.
	Texts Table
	// Shared describes the equal parts that objects share.
	Shared Sharing
	// Keep has the paths of kinformer.Decoding.Keep, Whole its selector of objects that are whole
	// nevertheless, and WholeObjects the number of these, for which the labels of each object are read; 0
	// for a source. Keep is nil if all objects are whole.
	Keep         []string
	Whole        string
	WholeObjects int
}

// Verification counts the objects that both the informer and the client have decoded.
type Verification struct {
	Objects int64
	// Differences is the number of objects that differed, or that the ListerWatcher had changed.
	Differences int64
}

// Sharing describes whether the objects of an informer share equal parts; see kinformer.Decoding.ShareParts.
type Sharing struct {
	// On reports whether sharing is on, if the informer decodes directly. If sharing was requested and is
	// off, because of a transform function or because no transport of package direct has seen the last
	// request, Why is the reason.
	On  bool
	Why string
	// Parts describes the table of shared parts, for all informers of the process, under the same
	// conditions as Decoding.Texts.
	Parts Table
	// Checked is the number of shared parts of this informer's objects that were decoded again and
	// compared, about one in a thousand of those that were found. Mutations is the number of these
	// that the program had modified, against the rule of ShareParts. Mutation describes the first
	// one: its place and type, and nothing of its content. New objects no longer share such a part.
	Checked, Mutations int64
	Mutation           string
}

// Table describes a table of values that the objects of a process share.
type Table struct {
	Count int64 // the number of texts or parts
	Bytes int64 // an estimate of their memory with the table's
	Limit int64 // the limit of Bytes
	// Hits is the number of parts of objects that were found in the table, Misses the number that
	// were not. They are not counted for texts.
	Hits, Misses int64
}

// Values of Status.Phase.
const (
	// PhaseWatching: a watch is being opened, or is open.
	PhaseWatching = string(reflector.Watching)
	// PhaseStopped: the context of Run has ended, or an ErrorPolicy has stopped the informer.
	PhaseStopped = string(reflector.Stopped)
)

// ErrForeign means that an informer, a store, a queue or a registration does not belong to package
// cache, so that nothing is known about it.
var ErrForeign = door.ErrForeign

// Syncer is an informer, a controller, a source of package sources, or the registration of a handler.
type Syncer = interface{ HasSyncedChecker() clientgo.DoneChecker }

// StatusOf returns the status of an informer or controller of package cache, also of a typed
// informer of a generated factory, of an informer of controller-runtime's cache (except one for
// several namespaces, which has several), or of a wrapper with a GetController method. For others
// the error is ErrForeign. It may be called at any time, and delays nothing. With
// kinformer.Decoding.Whole it takes time for each object: see Decoding.WholeObjects.
func StatusOf(informer Syncer) (Status, error) {
	own := door.Of(informer)
	if own == nil {
		return Status{}, ErrForeign
	}
	return statusOf(own), nil
}
