// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/world"
)

const (
	// chunk is about how many bytes are written at once.
	chunk = 64 << 10
	// batch is how many changes are read at once.
	batch = 64
	// bookmarkPeriod is that of an API server, without the speed.
	bookmarkPeriod = time.Minute
)

// watcher is a watch.
type watcher struct {
	server *server
	of     world.Resource
	w      http.ResponseWriter
	buffer []byte
	next   atomic.Uint64 // the number of the change that is to be sent next
	end    chan struct{} // closed to end it

	compacted uint64 // of the shelf, when the watch began
}

var errEnded = errors.New("the watch has ended")

// watch serves a watch or watch-list.
func (s *server) watch(w http.ResponseWriter, r *http.Request, of world.Resource) {
	query := r.URL.Query()
	t := &watcher{server: s, of: of, w: w, end: make(chan struct{})}
	w.Header().Set("Content-Type", s.config.MediaType+";stream=watch")
	s.enter(t) // before its version is looked up, so that end misses none
	defer s.leave(t)
	if t.begin(r.Context(), query) != nil {
		return // the client is gone
	}
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds")) // 0: none
	timeout := time.Duration(float64(time.Duration(seconds)*time.Second) / s.config.Speed)
	s.note(of, func(n *Notes) { n.Watches++ })
	_ = t.follow(r.Context(), timeout) // what failed, the client knows
}

// begin sends what comes before the changes.
func (t *watcher) begin(ctx context.Context, query url.Values) error {
	shelf := t.server.world.Shelf(t.of)
	t.compacted = shelf.Compacted()
	if query.Get("sendInitialEvents") == "true" {
		return t.initial(ctx)
	}
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err != nil || version == 0 { // from now on
		t.next.Store(shelf.Next())
		return t.flush()
	}
	next, err := shelf.Since(version)
	if err != nil {
		return errors.Join(err, t.gone())
	}
	t.next.Store(next)
	return t.flush()
}

// gone says that the version is too old.
func (t *watcher) gone() (err error) {
	t.server.note(t.of, func(n *Notes) { n.Gone++ })
	if t.buffer, err = t.server.forms.AppendGone(t.buffer, t.of); err != nil {
		return err
	}
	return t.flush()
}

// initial sends all objects, and the bookmark behind them.
func (t *watcher) initial(ctx context.Context) (err error) {
	snapshot := t.server.snapshot(t.of)
	for i := range snapshot.Objects {
		t.buffer = t.server.forms.AppendEvent(t.buffer, t.of, &world.Change{Object: snapshot.Objects[i]})
		if len(t.buffer) < chunk {
			continue
		}
		if err := errors.Join(ctx.Err(), t.write()); err != nil {
			return err
		}
	}
	if t.buffer, err = t.server.forms.AppendBookmark(t.buffer, t.of, snapshot.Version, true); err != nil {
		return err
	}
	t.next.Store(snapshot.Next)
	return t.flush()
}

// follow sends changes until the watch ends. After a compaction it sends none: by the version of
// one the client could go on, as if nothing were gone.
func (t *watcher) follow(ctx context.Context, timeout time.Duration) error {
	bookmarks := time.NewTicker(time.Duration(float64(bookmarkPeriod) / t.server.config.Speed))
	defer bookmarks.Stop()
	var timedOut <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		timedOut = timer.C
	}
	shelf := t.server.world.Shelf(t.of)
	for changes := make([]world.Change, batch); ; {
		n, changed, version, err := shelf.Read(t.next.Load(), changes)
		switch {
		case shelf.Compacted() != t.compacted:
			return errEnded
		case err != nil:
			return err // it is too slow
		case n > 0:
			err = t.send(ctx, changes[:n])
		default:
			err = t.wait(ctx, changed, bookmarks.C, timedOut, version)
		}
		if err != nil {
			return err
		}
	}
}

// send sends changes; those that wait already are written together.
func (t *watcher) send(ctx context.Context, changes []world.Change) error {
	t.server.stalled(ctx, t.end)
	now := time.Now().UnixNano()
	for i := range changes {
		t.server.sent(now - changes[i].Object.Due)
		t.buffer = t.server.forms.AppendEvent(t.buffer, t.of, &changes[i])
	}
	err := t.flush()
	t.next.Add(uint64(len(changes)))
	return err
}

// wait returns when there are changes, or an error when there will be none. Bookmarks are sent
// meanwhile.
func (t *watcher) wait(ctx context.Context, changed <-chan struct{}, bookmarks, timedOut <-chan time.Time, version uint64) (err error) {
	select {
	case <-changed:
		return nil
	case <-bookmarks:
		if t.buffer, err = t.server.forms.AppendBookmark(t.buffer, t.of, version, false); err != nil {
			return err
		}
		return t.flush()
	case <-timedOut:
	case <-t.end:
	case <-ctx.Done():
	}
	return errEnded
}

// write writes the buffer.
func (t *watcher) write() error {
	_, err := t.w.Write(t.buffer)
	t.buffer = t.buffer[:0]
	return err
}

// flush writes the buffer and lets the client have it.
func (t *watcher) flush() error {
	if err := t.write(); err != nil {
		return err
	}
	return http.NewResponseController(t.w).Flush()
}
