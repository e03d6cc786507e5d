// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kinformer/cache/bench/internal/workload"
)

// Config says what a server serves, and how.
type Config struct {
	// Resource is by ID; pods if that is empty.
	Resource  string `json:"resource"`
	N         int    `json:"n"`
	Seed      uint64 `json:"seed"`
	MediaType string `json:"mediaType"`
	// Page is how many objects one answer to a list has at most; 0: all.
	Page int `json:"page"`
	// TLS is TLS with HTTP/2: a client that speaks HTTP/1.1 is refused.
	TLS bool `json:"tls"`
	// Narrow lets little be under way to the client, so that a client that does
	// not read is noticed soon.
	Narrow bool `json:"narrow"`
}

// server answers requests for objects, whatever their options beyond watch,
// sendInitialEvents and continue.
type server struct {
	config  Config
	answers Answers
	lists   sync.WaitGroup // those that are being answered

	mu struct {
		sync.Mutex
		latest chan chan<- error // to the watch that was opened last
		open   time.Duration     // how long lists were open
	}
}

// newHandler encodes the answers and returns what serves them:
//
//	GET  /api/v1/pods, or so    a list, a watch-list or a watch
//	POST /feed                  sends the updates through the watch that was opened last, and answers when they are sent
//	GET  /bytes/...             list, initial or updates as bytes
//	POST /open                  how many nanoseconds lists were open since the last such request
func newHandler(c Config) (http.Handler, error) {
	of, err := resourceOf(c.Resource)
	if err != nil {
		return nil, err
	}
	s := &server{config: c}
	objects := of.Objects(workload.Config{N: c.N, Seed: c.Seed})
	if s.answers, err = Encode(of, objects, c.MediaType, c.Page); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+of.path(), s.objects)
	mux.HandleFunc("POST /feed", s.feed)
	mux.HandleFunc("POST /open", s.opened)
	for name, body := range map[string][]byte{"list": s.answers.Pages[0], "initial": s.answers.Initial, "updates": s.answers.Updates} {
		mux.HandleFunc("GET /bytes/"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, body) })
	}
	return mux, nil
}

// send writes a body. If that fails the client is gone, which it is told by
// its own side of the connection.
func send(w http.ResponseWriter, body []byte) { _, _ = w.Write(body) }

func (s *server) objects(w http.ResponseWriter, r *http.Request) {
	if s.config.TLS && r.ProtoMajor != 2 {
		http.Error(w, "over TLS by HTTP/2 only", http.StatusHTTPVersionNotSupported)
		return
	}
	query := r.URL.Query()
	if query.Get("watch") == "" || query.Get("watch") == "false" {
		s.list(w, query.Get("continue"))
		return
	}
	feeds := make(chan chan<- error)
	s.mu.Lock()
	s.mu.latest = feeds
	s.mu.Unlock()
	w.Header().Set("Content-Type", s.config.MediaType+";stream=watch")
	if query.Get("sendInitialEvents") == "true" {
		send(w, s.answers.Initial)
	}
	s.follow(r.Context(), w, feeds)
}

// list sends a page: the first one, or that with the number in the token.
func (s *server) list(w http.ResponseWriter, token string) {
	number, err := strconv.Atoi(cmp.Or(token, "0"))
	if err != nil || number < 0 || number >= len(s.answers.Pages) {
		http.Error(w, "no such page", http.StatusGone)
		return
	}
	s.lists.Add(1)
	defer s.lists.Done()
	start := time.Now()
	w.Header().Set("Content-Type", s.config.MediaType)
	send(w, s.answers.Pages[number])
	_ = http.NewResponseController(w).Flush() // what fails here, the client sees
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.open += time.Since(start)
}

func (s *server) opened(w http.ResponseWriter, _ *http.Request) {
	s.lists.Wait() // who asks has read them to their end
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprint(w, s.mu.open.Nanoseconds())
	s.mu.open = 0
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
