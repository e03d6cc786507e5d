// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// Config says what is served.
type Config struct {
	Nodes     int     `json:"nodes"`
	Seed      uint64  `json:"seed"`
	Churn     float64 `json:"churn"`
	MediaType string  `json:"mediaType"`
	// Speed divides how long watches last, and the time between bookmarks.
	Speed float64 `json:"speed"`
}

// Notes are what there was of a resource.
type Notes struct {
	// Lists counts whole states that were begun, by list or watch-list; Base is the number of the
	// first change after the last one.
	Lists int    `json:"lists"`
	Base  uint64 `json:"base"`
	// Watches counts those that were opened, Gone those that began with a version that was too old.
	Watches int `json:"watches"`
	Gone    int `json:"gone"`
	// Open is how many there are, and Lag how many changes the one that is farthest behind has not
	// sent.
	Open int    `json:"open"`
	Lag  uint64 `json:"lag"`
	// Changes is how many there were. State is set by pause only.
	Changes uint64      `json:"changes"`
	State   world.State `json:"state"`
}

type server struct {
	config Config
	world  *world.World
	forms  *blank.Set
	driver *driver
	gate   *gate
	pages  pages
	stall  atomic.Pointer[chan struct{}] // closed when it is over; nil for none

	mu struct {
		sync.Mutex
		notes    [world.Resources]Notes
		watchers map[*watcher]struct{}
		late     *hdrhistogram.Histogram // how long after their time changes were sent, in microseconds
	}
}

func newServer(c Config) (*server, error) {
	if c.Speed <= 0 {
		c.Speed = 1
	}
	s := &server{config: c, world: world.New(world.Config{Nodes: c.Nodes, Seed: c.Seed, Churn: c.Churn})}
	s.driver = newDriver(s.world)
	s.mu.watchers = map[*watcher]struct{}{}
	s.mu.late = hdrhistogram.New(1, 1e9, 2)
	var err error
	s.forms, err = blank.NewSet(blank.Config{Deployments: s.world.Deployments(), Seed: c.Seed, MediaType: c.MediaType})
	return s, err
}

// handler answers requests for all resources.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, of := range world.All() {
		mux.HandleFunc("GET "+blank.Of(of).Path(), func(w http.ResponseWriter, r *http.Request) {
			switch watch := r.URL.Query().Get("watch"); {
			case r.ProtoMajor != 2:
				http.Error(w, "by HTTP/2 only", http.StatusHTTPVersionNotSupported)
			case watch == "" || watch == "false":
				s.list(w, r, of)
			default:
				s.watch(w, r, of)
			}
		})
	}
	return mux
}

// snapshot returns a whole state that will be sent.
func (s *server) snapshot(of world.Resource) world.Snapshot {
	snapshot := s.world.Shelf(of).Snapshot()
	s.note(of, func(n *Notes) { n.Lists, n.Base = n.Lists+1, snapshot.Next })
	return snapshot
}

func (s *server) note(of world.Resource, what func(*Notes)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.mu.notes[of])
}

func (s *server) enter(t *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.watchers[t] = struct{}{}
}

func (s *server) leave(t *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.watchers, t)
}

// sent notes how long after its time a change was sent.
func (s *server) sent(nanoseconds int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.mu.late.RecordValue(min(max(nanoseconds/1000, 0), 1e9)) // in range
}

// end ends the watches of a resource, or of all.
func (s *server) end(which func(world.Resource) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.mu.watchers {
		if which(t.of) {
			close(t.end)
			delete(s.mu.watchers, t)
		}
	}
}

// noted returns what there was, and is.
func (s *server) noted() [world.Resources]Notes {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.mu.notes
	for _, of := range world.All() {
		all[of].Changes = s.world.Shelf(of).Next()
	}
	for t := range s.mu.watchers {
		n := &all[t.of]
		n.Open++
		n.Lag = max(n.Lag, n.Changes-min(n.Changes, t.next.Load()))
	}
	return all
}

// stalled waits while nothing is to be sent, or until ctx ends or end is closed.
func (s *server) stalled(ctx context.Context, end <-chan struct{}) {
	if over := s.stall.Load(); over != nil {
		select {
		case <-*over:
		case <-end:
		case <-ctx.Done():
		}
	}
}

// setStall begins a stall, or ends it.
func (s *server) setStall(begins bool) {
	if begins {
		s.stall.CompareAndSwap(nil, new(make(chan struct{})))
	} else if over := s.stall.Swap(nil); over != nil {
		close(*over)
	}
}

// paused stops time and returns what there was, with the states.
func (s *server) paused(ctx context.Context) (notes [world.Resources]Notes, err error) {
	if err := s.driver.do(ctx, s.driver.pause); err != nil {
		return notes, err
	}
	notes = s.noted()
	for _, of := range world.All() {
		notes[of].State, notes[of].Changes = s.world.Shelf(of).State()
	}
	return notes, nil
}
