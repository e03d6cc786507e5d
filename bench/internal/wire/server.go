// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/kinformer/cache/bench/internal/workload"
)

// Config says what a server serves.
type Config struct {
	N         int    `json:"n"`
	Seed      uint64 `json:"seed"`
	MediaType string `json:"mediaType"`
}

// server answers requests for pods, whatever their options beyond watch and
// sendInitialEvents.
type server struct {
	mediaType string
	answers   Answers

	mu struct {
		sync.Mutex
		latest chan chan<- error // to the watch that was opened last
	}
}

// newHandler encodes the answers and returns what serves them:
//
//	GET  /api/v1/pods    a list, a watch-list or a watch
//	POST /feed           sends the updates through the watch that was opened last, and answers when they are sent
//	GET  /bytes/...      list, initial or updates as bytes
func newHandler(ctx context.Context, c Config) (http.Handler, error) {
	population, err := workload.New(ctx, workload.Config{N: c.N, Seed: c.Seed})
	if err != nil {
		return nil, fmt.Errorf("wire: make objects: %w", err)
	}
	s := &server{mediaType: c.MediaType}
	if s.answers, err = Encode(population, c.MediaType); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.pods)
	mux.HandleFunc("POST /feed", s.feed)
	for name, body := range map[string][]byte{"list": s.answers.List, "initial": s.answers.Initial, "updates": s.answers.Updates} {
		mux.HandleFunc("GET /bytes/"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, body) })
	}
	return mux, nil
}

// send writes a body. If that fails the client is gone, which it is told by
// its own side of the connection.
func send(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }

func (s *server) pods(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("watch") == "" || query.Get("watch") == "false" {
		w.Header().Set("Content-Type", s.mediaType)
		send(w, s.answers.List)
		return
	}
	feeds := make(chan chan<- error)
	s.mu.Lock()
	s.mu.latest = feeds
	s.mu.Unlock()
	w.Header().Set("Content-Type", s.mediaType+";stream=watch")
	if query.Get("sendInitialEvents") == "true" {
		send(w, s.answers.Initial)
	}
	s.follow(r.Context(), w, feeds)
}

// follow sends the updates whenever it is asked to, until the client is gone.
func (s *server) follow(ctx context.Context, w http.ResponseWriter, feeds <-chan chan<- error) {
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for {
		select {
		case sent := <-feeds:
			_, err := w.Write(s.answers.Updates)
			sent <- errors.Join(err, flush())
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) feed(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	latest := s.mu.latest
	s.mu.Unlock()
	sent := make(chan error, 1)
	select {
	case latest <- sent: // with no watch yet, this is a nil channel
	case <-r.Context().Done():
		return
	}
	if err := <-sent; err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
