// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/kinformer/cache/bench/cluster/internal/blank"
	"github.com/kinformer/cache/bench/cluster/internal/child"
	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/wire"
)

// Role is that of the process.
const Role = "server"

// Hello is what a server says first.
type Hello struct {
	URL string `json:"url"`
	CA  []byte `json:"ca"` // the certificate that clients trust, in PEM
	// FormBytes is how much memory the forms of objects take.
	FormBytes int `json:"formBytes"`
}

// Lateness is how long after their time things were done.
type Lateness struct {
	// Plan is the most by which a change was made late.
	Plan time.Duration `json:"plan"`
	// Sent is by how much changes were sent late: all but one in a thousand, and all. It has the
	// slowness of clients that do not take more.
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

// Serve serves on a free port of the loopback interface, and does what it is told:
//
//	resume, pause   let time pass, or stop it; pause returns the Notes with all states
//	notes           returns the Notes
//	gone            {resource}: versions before now are too old, and the watch ends; "" for all
//	end             ends all watches
//	cut             cuts all connections
//	stall           true or false: sends nothing through watches, or goes on
//	shut            true or false: cuts all connections and refuses new ones, or takes them again
//	late            returns the Lateness since it was last asked
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.gate = newGate(listener)
	h := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	hello := Hello{URL: "https://" + listener.Addr().String(), FormBytes: s.forms.Size()}
	if h.TLSConfig, hello.CA, err = wire.Certified(); err != nil {
		return errors.Join(err, listener.Close())
	}
	ended, drove := make(chan error, 1), make(chan struct{})
	go func() { ended <- h.ServeTLS(s.gate, "", "") }()
	go func() { defer close(drove); s.driver.run(ctx) }()
	err = child.Serve(ctx, in, out, hello, s.commands())
	cancel()
	s.end(func(world.Resource) bool { return true })
	err = errors.Join(err, h.Close())
	<-ended // http.ErrServerClosed
	<-drove
	return err
}

func (s *server) commands() child.Commands {
	return child.Commands{
		"resume": func(ctx context.Context, _ json.RawMessage) (any, error) {
			return nil, s.driver.do(ctx, s.driver.resume)
		},
		"pause": func(ctx context.Context, _ json.RawMessage) (any, error) { return s.paused(ctx) },
		"notes": func(context.Context, json.RawMessage) (any, error) { return s.noted(), nil },
		"gone":  told(s.gone),
		"end":   told(func(string) { s.end(func(world.Resource) bool { return true }) }),
		"cut":   told(func(string) { s.gate.cut() }),
		"stall": told(s.setStall),
		"shut":  told(s.shut),
		"late":  func(ctx context.Context, _ json.RawMessage) (any, error) { return s.lateness(ctx) },
	}
}

// told makes a command of a function that returns nothing.
func told[T any](do func(T)) func(context.Context, json.RawMessage) (any, error) {
	return func(_ context.Context, argument json.RawMessage) (any, error) {
		var with T
		if len(argument) > 0 {
			if err := json.Unmarshal(argument, &with); err != nil {
				return nil, err
			}
		}
		do(with)
		return nil, nil
	}
}

// gone makes all versions of a resource too old.
func (s *server) gone(resource string) {
	for _, of := range world.All() {
		if name := blank.Of(of).Name; resource == "" || resource == name {
			s.world.Shelf(of).Compact()
			s.end(func(other world.Resource) bool { return other == of })
		}
	}
}

func (s *server) shut(shut bool) {
	s.gate.setShut(shut)
	if shut {
		s.gate.cut()
	}
}

func (s *server) lateness(ctx context.Context) (l Lateness, err error) {
	err = s.driver.do(ctx, func() { l.Plan, s.driver.late = s.driver.late, 0 })
	s.mu.Lock()
	defer s.mu.Unlock()
	l.P999 = time.Duration(s.mu.late.ValueAtQuantile(99.9)) * time.Microsecond
	l.Max = time.Duration(s.mu.late.Max()) * time.Microsecond
	s.mu.late.Reset()
	return l, err
}
