// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/world"
)

const (
	// chunk is the number of bytes from which the buffer is written while it is filled.
	chunk = 64 << 10
	// batch is the maximum number of changes in a read; batchRecorded is that of recorded answers.
	batch, batchRecorded = 64, 8192
)

// bookmarkPeriod is the time between bookmarks, as of API servers, at speed 1.
const bookmarkPeriod = time.Minute

// handler answers requests for all resources. It ignores all options except watch,
// sendInitialEvents, resourceVersion, timeoutSeconds and, for leases, a field selector of one name:
// lists are complete, as from the watch cache of an API server.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for of := range world.Resources {
		mux.HandleFunc("GET "+blank.Of(of).Path(), func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			watch := query.Get("watch")
			if s.config.TLS && r.ProtoMajor != 2 {
				http.Error(w, "HTTP/2 only", http.StatusHTTPVersionNotSupported)
				return
			}
			mediaType := s.mediaType(r.Header.Get("Accept"))
			t := &watcher{server: s, of: of, w: w, forms: s.forms[mediaType]}
			t.name, _ = strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
			if watch == "" || watch == "false" {
				w.Header().Set("Content-Type", mediaType)
				_ = t.whole("list", t.list) // the client gets the error
				return
			}
			w.Header().Set("Content-Type", mediaType+";stream=watch")
			_ = t.watch(r)
		})
	}
	return mux
}

// mediaType returns the media type of an answer.
func (s *server) mediaType(accept string) string {
	switch {
	case s.config.MediaType != "":
		return s.config.MediaType
	case strings.Contains(accept, blank.Protobuf):
		return blank.Protobuf
	}
	return blank.JSON
}

// watcher is a watch, or a list.
type watcher struct {
	server *server
	forms  *blank.Set
	of     world.Resource
	name   string // of the only lease to be sent; empty sends all objects
	w      http.ResponseWriter
	buffer []byte
	next   atomic.Uint64      // the number of the next change to be sent
	end    context.CancelFunc // ends the watch; nil for a list

	compacted uint64 // the shelf's Compacted when the watch began
}

// snapshot returns the list to be sent, and counts it.
func (t *watcher) snapshot() world.Snapshot {
	snapshot := t.server.world.Shelf(t.of).Snapshot()
	t.server.note(t.of, func(n *Notes) { n.Lists, n.Base = n.Lists+1, snapshot.Next })
	if t.name != "" {
		snapshot.Objects = slices.DeleteFunc(snapshot.Objects, func(o world.Object) bool { return !t.selects(&o) })
	}
	return snapshot
}

// selects reports whether an object is to be sent.
func (t *watcher) selects(o *world.Object) bool {
	return t.name == "" || t.of != world.Leases || t.name == blank.LeaseName(o.Node)
}

// whole sends the bytes that fill appends. With Config.Recorded, it records them under the name what
// and sends the record later, so that measurements of a client contain no waits for fill.
func (t *watcher) whole(what string, fill func() error) error {
	s := t.server
	if !s.config.Recorded {
		return errors.Join(fill(), t.flush())
	}
	s.mu.Lock()
	known := s.mu.answers[what]
	s.mu.Unlock()
	if known == nil {
		if err := fill(); err != nil {
			return err
		}
		known, t.buffer = t.buffer, nil
		s.mu.Lock()
		s.mu.answers[what] = known
		s.mu.Unlock()
	}
	if _, err := t.w.Write(known); err != nil {
		return err
	}
	return http.NewResponseController(t.w).Flush()
}

// list appends a list.
func (t *watcher) list() (err error) {
	snapshot := t.snapshot()
	t.buffer, err = t.forms.List(t.of, snapshot.Objects, snapshot.Version)
	return err
}

var errEnded = errors.New("the watch has ended")

// watch serves a watch or watch-list.
func (t *watcher) watch(r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	t.end = cancel
	s := t.server
	s.mu.Lock()
	s.mu.watchers[t] = struct{}{} // before its version is looked up, so that end misses none
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.mu.watchers, t)
	}()
	query := r.URL.Query()
	if err := t.begin(query.Get("sendInitialEvents") == "true", query.Get("resourceVersion")); err != nil {
		return err
	}
	if seconds, _ := strconv.Atoi(query.Get("timeoutSeconds")); seconds > 0 {
		var timedOut context.CancelFunc
		ctx, timedOut = context.WithTimeout(ctx, time.Duration(float64(time.Duration(seconds)*time.Second)/s.config.Speed))
		defer timedOut()
	}
	return t.follow(ctx)
}

// begin sends the initial events, or an error if the version is too old, and sets next.
func (t *watcher) begin(initial bool, from string) error {
	shelf := t.server.world.Shelf(t.of)
	t.compacted = shelf.Compacted()
	version, _ := strconv.ParseUint(from, 10, 64)
	switch {
	case initial:
		snapshot := t.snapshot()
		t.next.Store(snapshot.Next)
		return t.whole("initial", func() error { return t.initial(snapshot) })
	case version == 0:
		t.next.Store(shelf.Next())
	default:
		next, err := shelf.Since(version)
		if err != nil {
			var failed error
			t.buffer, failed = t.forms.AppendGone(t.buffer)
			return errors.Join(err, failed, t.flush())
		}
		t.next.Store(next)
	}
	return t.flush()
}

// initial appends all objects, and the bookmark after them.
func (t *watcher) initial(snapshot world.Snapshot) (err error) {
	for i := range snapshot.Objects {
		t.buffer = t.forms.AppendEvent(t.buffer, t.of, &world.Change{Object: snapshot.Objects[i]})
		if err := t.writeFull(); err != nil {
			return err
		}
	}
	t.buffer, err = t.forms.AppendBookmark(t.buffer, t.of, snapshot.Version, true)
	return err
}

// follow sends changes until the watch ends. After a compaction it sends none, because the client
// could continue from the version of a later change without a new list.
func (t *watcher) follow(ctx context.Context) error {
	bookmarks := time.NewTicker(time.Duration(float64(bookmarkPeriod) / t.server.config.Speed))
	defer bookmarks.Stop()
	shelf := t.server.world.Shelf(t.of)
	changes := make([]world.Change, batch)
	if t.server.config.Recorded {
		changes = make([]world.Change, batchRecorded)
	}
	for {
		n, changed, version, err := shelf.Read(t.next.Load(), changes)
		if shelf.Compacted() != t.compacted {
			return errEnded
		}
		if err == nil && n > 0 {
			err = t.send(changes[:n])
		}
		if err != nil {
			return err // the client is gone, or too slow
		}
		if n > 0 {
			continue
		}
		select {
		case <-changed:
		case <-bookmarks.C:
			if t.buffer, err = t.forms.AppendBookmark(t.buffer, t.of, version, false); err == nil {
				err = t.flush()
			}
		case <-ctx.Done():
			return errEnded
		}
		if err != nil {
			return err
		}
	}
}

// send sends changes in one write, and records their delays.
func (t *watcher) send(changes []world.Change) error {
	now := time.Now().UnixNano()
	t.server.mu.Lock()
	for i := range changes {
		_ = t.server.mu.late.RecordValue(min(max((now-changes[i].Object.Due)/1000, 0), 1e9)) // in range
	}
	t.server.mu.Unlock()
	err := t.whole(fmt.Sprintf("changes %d, %d", t.next.Load(), len(changes)), func() error {
		for i := range changes {
			if t.selects(&changes[i].Object) {
				t.buffer = t.forms.AppendEvent(t.buffer, t.of, &changes[i])
			}
		}
		return nil
	})
	t.next.Add(uint64(len(changes)))
	return err
}

// write writes the buffer.
func (t *watcher) write() error {
	_, err := t.w.Write(t.buffer)
	t.buffer = t.buffer[:0]
	return err
}

// writeFull writes the buffer if it holds a chunk. Recorded answers are whole, and so
// are not written in chunks.
func (t *watcher) writeFull() error {
	if len(t.buffer) < chunk || t.server.config.Recorded {
		return nil
	}
	return t.write()
}

// flush writes the buffer and flushes it to the client.
func (t *watcher) flush() error {
	if err := t.write(); err != nil {
		return err
	}
	return http.NewResponseController(t.w).Flush()
}
