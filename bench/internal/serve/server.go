// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the API server of a world: lists, watches and watch-lists over HTTP. It runs as
// a process of its own, so that its CPU time is not that of who measures, and makes faults when it
// is told to. A world of a cluster changes by its plan; one that stands is fed when that is asked.
//
// What is due is done at its time, and sent then. When that is late, by whoever's fault, nothing is
// left out and no time is changed: objects carry the time when their change was due.
package serve

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/blank"
	"github.com/kinformer/cache/bench/internal/child"
	"github.com/kinformer/cache/bench/internal/world"
	"github.com/kinformer/cache/direct"
)

// Role is that of the process.
const Role = "server"

// Config says what is served.
type Config struct {
	MediaType string
	TLS       bool // with HTTP/2: a client that speaks HTTP/1.1 is refused

	// Nodes, Seed and Churn are those of a cluster. Speed divides how long watches last, and the
	// time between bookmarks.
	Nodes        int
	Seed         uint64
	Churn, Speed float64

	// Still is a world that stands instead: so many Objects of Of, PerDeployment pods each.
	Still                  bool
	Of                     world.Resource
	Objects, PerDeployment int
}

// Hello is what a server says first.
type Hello struct {
	URL string
	CA  []byte // the certificate that clients trust, in PEM
}

// Notes are what there was of a resource.
type Notes struct {
	// Lists counts whole states that were begun, by list or watch-list; Base is the number of the
	// first change after the last one.
	Lists int
	Base  uint64
	// Open is how many watches there are, and Lag how many changes the one that is farthest behind
	// has not sent.
	Open int
	Lag  uint64
	// Changes is how many there were. State is set by pause only.
	Changes uint64
	State   world.State
}

// Lateness is by how much changes were sent after their time: all but one in a thousand, and all.
// It has the slowness of clients that do not take more. Plan is the most by which one was made
// late.
type Lateness struct{ Plan, P999, Max time.Duration }

type server struct {
	config Config
	world  *world.World
	still  *world.Still
	forms  *blank.Set
	driver *driver
	http   *httptest.Server
	door   door

	mu struct {
		sync.Mutex
		notes    [world.Resources]Notes
		watchers map[*watcher]struct{}
		answers  map[string][]byte       // of a world that stands
		late     *hdrhistogram.Histogram // how long after their time changes were sent, in microseconds
	}
}

func newServer(c Config) (*server, error) {
	if c.Speed <= 0 {
		c.Speed = 1
	}
	s := &server{config: c}
	forms := blank.Config{Seed: c.Seed, MediaType: c.MediaType}
	if c.Still {
		s.still = world.NewStill(c.Of, c.Objects, max(1, c.PerDeployment))
		s.world, forms.Only = s.still.World, &c.Of
	} else {
		s.world = world.New(world.Config{Nodes: c.Nodes, Seed: c.Seed, Churn: c.Churn})
	}
	forms.Deployments = s.world.Deployments()
	s.driver = newDriver(s.world)
	s.mu.watchers, s.mu.answers = map[*watcher]struct{}{}, map[string][]byte{}
	s.mu.late = hdrhistogram.New(1, 1e9, 2)
	var err error
	s.forms, err = blank.NewSet(forms)
	return s, err
}

// Serve serves on a free port of the loopback interface, and does what it is told:
//
//	resume, pause   let time pass, or stop it; pause returns the Notes with all states
//	notes           returns the Notes
//	gone            {resource}: versions before now are too old, and the watch ends; "" for all
//	shut            true or false: cuts all connections and refuses new ones, or takes them again
//	late            returns the Lateness since it was last asked
//	feed, rewind    change each object of a world that stands once, or take that back
func Serve(ctx context.Context, config []byte, in io.Reader, out io.Writer) error {
	var c Config
	if err := json.Unmarshal(config, &c); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(c)
	if err != nil {
		return err
	}
	s.http = httptest.NewUnstartedServer(s.handler())
	s.door.Listener, s.http.Listener, s.http.EnableHTTP2 = s.http.Listener, &s.door, c.TLS
	start := s.http.Start
	if c.TLS {
		start = s.http.StartTLS
	}
	start()
	hello := Hello{URL: s.http.URL}
	if c.TLS {
		hello.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	}
	var running sync.WaitGroup
	running.Go(func() { s.driver.run(ctx) })
	err = child.Serve(ctx, in, out, hello, s.commands())
	cancel()
	s.end("")
	s.http.CloseClientConnections()
	s.http.Close()
	running.Wait()
	return err
}

// door is a listener that can be shut: then it closes what it accepts.
type door struct {
	net.Listener
	shut atomic.Bool
}

// Accept accepts a connection.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil || !d.shut.Load() {
			return c, err
		}
		_ = c.Close() // the client notices
	}
}

// setShut shuts the door and cuts all connections, as a load balancer does that goes away, or opens
// it again.
func (s *server) setShut(shut bool) {
	s.door.shut.Store(shut)
	if shut {
		s.http.CloseClientConnections()
	}
}

func (s *server) commands() map[string]child.Command {
	return map[string]child.Command{
		"resume": child.Do(func(any) { s.driver.resume() }),
		"pause":  child.With(func(context.Context, any) (any, error) { return s.paused(), nil }),
		"notes":  child.With(func(context.Context, any) (any, error) { return s.noted(), nil }),
		"gone":   child.Do(s.gone),
		"shut":   child.Do(s.setShut),
		"late":   child.With(func(context.Context, any) (any, error) { return s.lateness(), nil }),
		"feed":   child.Do(func(any) { s.still.Feed() }),
		"rewind": child.Do(func(any) { s.still.Rewind() }),
	}
}

// gone makes all versions of a resource too old, or of all.
func (s *server) gone(resource string) {
	for _, of := range world.All() {
		if resource == "" || resource == of.String() {
			s.world.Shelf(of).Compact()
		}
	}
	s.end(resource)
}

// end ends the watches of a resource, or all.
func (s *server) end(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.mu.watchers {
		if resource == "" || resource == t.of.String() {
			t.end()
			delete(s.mu.watchers, t)
		}
	}
}

func (s *server) note(of world.Resource, what func(*Notes)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.mu.notes[of])
}

// noted returns what there was, and is.
func (s *server) noted() [world.Resources]Notes {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.mu.notes
	for of := range world.Resources {
		all[of].Changes = s.world.Shelf(of).Next()
	}
	for t := range s.mu.watchers {
		n := &all[t.of]
		n.Open++
		n.Lag = max(n.Lag, n.Changes-min(n.Changes, t.next.Load()))
	}
	return all
}

// paused stops time and returns what there was, with the states.
func (s *server) paused() [world.Resources]Notes {
	s.driver.pause()
	notes := s.noted()
	for of := range world.Resources {
		notes[of].State, notes[of].Changes = s.world.Shelf(of).State()
	}
	return notes
}

func (s *server) lateness() Lateness {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Lateness{
		Plan: s.driver.lateness(), Max: time.Duration(s.mu.late.Max()) * time.Microsecond,
		P999: time.Duration(s.mu.late.ValueAtQuantile(99.9)) * time.Microsecond,
	}
	s.mu.late.Reset()
	return l
}

// driver lets the time of a world pass. It stands at first, and whenever it is stopped.
type driver struct {
	world   *world.World
	resumed chan struct{}

	mu struct {
		sync.Mutex // also of the world, but for its shelves
		runs       bool
		start      time.Time     // when time 0 is; moves with each pause
		elapsed    time.Duration // while it stands
		late       time.Duration // the most that anything was done after its time
	}
}

func newDriver(w *world.World) *driver { return &driver{world: w, resumed: make(chan struct{}, 1)} }

// run drives until the context ends.
func (d *driver) run(ctx context.Context) {
	for {
		select {
		case <-time.After(d.advance()):
		case <-d.resumed:
		case <-ctx.Done():
			return
		}
	}
}

// advance does what is due and returns how long nothing is.
func (d *driver) advance() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.runs {
		return time.Hour
	}
	return d.advanceLocked()
}

func (d *driver) advanceLocked() time.Duration {
	for {
		next := d.world.Advance(time.Since(d.mu.start))
		wait := next - time.Since(d.mu.start)
		if wait > 0 {
			return wait
		}
		d.mu.late = max(d.mu.late, -wait)
	}
}

// resume lets time pass.
func (d *driver) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.runs {
		return
	}
	d.mu.runs, d.mu.start = true, time.Now().Add(-d.mu.elapsed)
	d.world.Epoch(d.mu.start.UnixNano())
	select {
	case d.resumed <- struct{}{}:
	default: // it is told already
	}
}

// pause stops time, after all that is due.
func (d *driver) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.runs {
		d.advanceLocked()
		d.mu.runs, d.mu.elapsed = false, time.Since(d.mu.start)
	}
}

// lateness returns the most that anything was late since it was last asked.
func (d *driver) lateness() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := d.mu.late
	d.mu.late = 0
	return late
}

// Config is that of clients. They may have informers decode directly.
func (h Hello) Config(decodes bool) *rest.Config {
	config := &rest.Config{Host: h.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: h.CA}}
	if decodes {
		config.Wrap(direct.Transport)
	}
	return config
}

// ListWatch is what users of a client with Go types have.
func ListWatch(config *rest.Config, of world.Resource, mediaType string) (*clientgo.ListWatch, error) {
	known := blank.Of(of)
	version := known.GroupVersion()
	config.APIPath = known.APIPath()
	config.ContentConfig = rest.ContentConfig{
		GroupVersion: &version, NegotiatedSerializer: blank.Codecs.WithoutConversion(), ContentType: mediaType, AcceptContentTypes: mediaType,
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return clientgo.NewListWatchFromClient(client, known.Name, metav1.NamespaceAll, fields.Everything()), nil
}
