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
	"strings"
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
	// Negotiates has it send protobuf to clients that accept that first.
	Negotiates bool `json:"negotiates"`
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
	answers map[string]Answers // by media type
	lists   sync.WaitGroup     // those that are being answered

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
	s := &server{config: c, answers: map[string]Answers{}}
	objects := of.Objects(workload.Config{N: c.N, Seed: c.Seed})
	for _, mediaType := range c.mediaTypes() {
		if s.answers[mediaType], err = Encode(of, objects, mediaType, c.Page); err != nil {
			return nil, err
		}
	}
	usual := s.answers[c.MediaType]
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+of.path(), s.objects)
	mux.HandleFunc("POST /feed", s.feed)
	mux.HandleFunc("POST /open", s.opened)
	for name, body := range map[string][]byte{"list": usual.Pages[0], "initial": usual.Initial, "updates": usual.Updates} {
		mux.HandleFunc("GET /bytes/"+name, func(w http.ResponseWriter, _ *http.Request) { send(w, body) })
	}
	return mux, nil
}

// mediaTypes are those of what the server sends.
func (c Config) mediaTypes() []string {
	if c.Negotiates {
		return []string{c.MediaType, Protobuf}
	}
	return []string{c.MediaType}
}

// mediaType is that of the answer to a request.
func (s *server) mediaType(r *http.Request) string {
	if s.config.Negotiates && strings.HasPrefix(r.Header.Get("Accept"), Protobuf) {
		return Protobuf
	}
	return s.config.MediaType
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
		s.list(w, s.mediaType(r), query.Get("continue"))
		return
	}
	mediaType := s.mediaType(r)
	feeds := make(chan chan<- error)
	s.mu.Lock()
	s.mu.latest = feeds
	s.mu.Unlock()
	w.Header().Set("Content-Type", mediaType+";stream=watch")
	if query.Get("sendInitialEvents") == "true" {
		send(w, s.answers[mediaType].Initial)
	}
	s.follow(r.Context(), w, s.answers[mediaType].Updates, feeds)
}

// list sends a page: the first one, or that with the number in the token.
func (s *server) list(w http.ResponseWriter, mediaType, token string) {
	pages := s.answers[mediaType].Pages
	number, err := strconv.Atoi(cmp.Or(token, "0"))
	if err != nil || number < 0 || number >= len(pages) {
		http.Error(w, "no such page", http.StatusGone)
		return
	}
	s.lists.Add(1)
	defer s.lists.Done()
	start := time.Now()
	w.Header().Set("Content-Type", mediaType)
	send(w, pages[number])
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
func (s *server) follow(ctx context.Context, w http.ResponseWriter, updates []byte, feeds <-chan chan<- error) {
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for {
		select {
		case sent := <-feeds:
			_, err := w.Write(updates)
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
