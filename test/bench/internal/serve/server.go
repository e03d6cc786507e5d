// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the API server of a world: lists, watches and watch-lists over HTTP. The server
// is a process of its own, so that its CPU time is not counted as the client's, and injects faults
// on command. The world of a cluster changes by its plan; a still one changes on command.
//
// The schedule is open: a change is made and sent when it is due. If the server or a client is late,
// no change is skipped and no due time is moved. Objects carry the time when their change was due.
package serve

import (
	"context"
	"encoding/pem"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// Role is the role of the server process, for package child.
const Role = "server"

// Config configures a server.
type Config struct {
	MediaType string // empty means JSON or protobuf, whichever a client accepts; not with Recorded
	TLS       bool   // with HTTP/2: a client that speaks HTTP/1.1 is refused

	// Nodes, Seed and Churn configure a world.World. Speed divides the timeouts of watches and the
	// time between bookmarks.
	Nodes        int
	Seed         uint64
	Churn, Speed float64

	// Objects, if not nil, serves a world.Still instead, PerDeployment of the objects in a deployment.
	Objects       map[world.Resource]int
	PerDeployment int
	// Recorded makes the server record its answers, and send the records later, so that measurements of a
	// client contain no waits for the encoding. The world must not be touched.
	Recorded bool
}

// Touched names an object of a still world by its resource and number.
type Touched struct {
	Of     world.Resource
	Number int32
}

// Hello is the first answer of a server.
type Hello struct {
	URL string
	CA  []byte // the certificate that clients trust, in PEM
}

// Notes count the requests for a resource and its changes.
type Notes struct {
	// Lists is the number of lists and watch-lists that were begun. Base is the number of the first
	// change after the last one.
	Lists int
	Base  uint64
	// Open is the number of open watches. Lag is the number of changes that the slowest of them has
	// not sent yet.
	Open int
	Lag  uint64
	// Changes is the number of changes. State is set by the command pause only.
	Changes uint64
	State   world.State
}

// Lateness is the delay between the time when a change was due and the time when it was sent: P999
// is the 99.9th percentile, Max the maximum, which both include waiting for slow clients.
type Lateness struct{ P999, Max time.Duration }

type server struct {
	config Config
	world  *world.World
	still  *world.Still
	forms  map[string]*blank.Set // by media type
	driver *driver
	http   *httptest.Server
	door   door

	mu struct {
		sync.Mutex
		notes    [world.Resources]Notes
		watchers map[*watcher]struct{}
		answers  map[string][]byte       // the recorded answers
		late     *hdrhistogram.Histogram // the delays with which changes were sent, in microseconds
	}
}

func newServer(c Config) (*server, error) {
	if c.Speed <= 0 {
		c.Speed = 1
	}
	s := &server{config: c, forms: map[string]*blank.Set{}}
	if c.Objects != nil {
		s.still = world.NewStill(c.Objects, c.PerDeployment)
		s.world = s.still.World
	} else {
		s.world = world.New(world.Config{Nodes: c.Nodes, Seed: c.Seed, Churn: c.Churn})
	}
	s.driver = newDriver(s.world)
	s.mu.watchers, s.mu.answers = map[*watcher]struct{}{}, map[string][]byte{}
	s.mu.late = hdrhistogram.New(1, 1e9, 2)
	mediaTypes := []string{c.MediaType}
	if c.MediaType == "" {
		mediaTypes = []string{blank.JSON, blank.Protobuf}
	}
	for _, mediaType := range mediaTypes {
		set, err := blank.NewSet(blank.Config{Deployments: s.world.Deployments(), Seed: c.Seed, MediaType: mediaType, Only: slices.Collect(maps.Keys(c.Objects))})
		if err != nil {
			return nil, err
		}
		s.forms[mediaType] = set
	}
	return s, nil
}

// Serve serves on a free port of the loopback interface and executes these commands of the parent:
//
//	resume, pause   let time pass, or stop it; pause returns the Notes with all states
//	notes           returns the Notes
//	gone            {resource}: compacts the resource and ends its watches; "" for all resources
//	shut            true: cuts all connections and refuses new ones; false: accepts connections
//	late            returns the Lateness since the last late
//	feed, rewind    change each object of a still world once, or undo that
//	touch           Touched: changes an object of a still world; returns its version
func Serve(ctx context.Context, c Config) error {
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
	err = child.Serve(ctx, hello, s.commands())
	cancel()
	s.end("")
	s.http.CloseClientConnections()
	s.http.Close()
	running.Wait()
	return err
}

// door is a listener that can be shut. While shut, it closes each connection that it accepts.
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
		_ = c.Close() // the client gets the error
	}
}

// setShut shuts the door and cuts all connections, like a failing load balancer, or opens the door.
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
		"touch":  child.With(func(_ context.Context, t Touched) (any, error) { return s.touch(t), nil }),
	}
}

// touch changes an object of a still world, and returns the version.
func (s *server) touch(t Touched) string {
	s.world.Epoch(time.Now().UnixNano())
	return world.FormatVersion(s.still.Touch(t.Of, t.Number))
}

// gone makes all versions of a resource too old and ends its watches; "" means all resources.
func (s *server) gone(resource string) {
	for _, of := range world.All() {
		if resource == "" || resource == of.String() {
			s.world.Shelf(of).Compact()
		}
	}
	s.end(resource)
}

// end ends the watches of a resource; "" means all resources.
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

// noted returns the Notes of all resources, without the states.
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

// paused stops time and returns the Notes of all resources, with the states.
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
		P999: time.Duration(s.mu.late.ValueAtQuantile(99.9)) * time.Microsecond,
		Max:  time.Duration(s.mu.late.Max()) * time.Microsecond,
	}
	s.mu.late.Reset()
	return l
}

// driver advances a world as time passes. A new driver is paused.
type driver struct {
	world   *world.World
	resumed chan struct{}

	mu struct {
		sync.Mutex // also guards the world, except its shelves
		runs       bool
		start      time.Time     // the time of the world's time 0; moves with each pause
		elapsed    time.Duration // the world's time, while paused
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

// advance executes all actions that are due and returns the time until the next one.
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
		if wait := next - time.Since(d.mu.start); wait > 0 {
			return wait
		}
	}
}

// resume lets time pass. It does nothing if time passes already.
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
	default: // run has yet to receive the last resume
	}
}

// pause executes all actions that are due and stops time.
func (d *driver) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.runs {
		d.advanceLocked()
		d.mu.runs, d.mu.elapsed = false, time.Since(d.mu.start)
	}
}

// Config returns a client configuration. If decodes, informers decode directly.
func (h Hello) Config(decodes bool) *rest.Config {
	config := &rest.Config{Host: h.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: h.CA}}
	if decodes {
		config.Wrap(direct.Transport)
	}
	return config
}

// Client returns a typed client of a resource.
func Client(config *rest.Config, of world.Resource, mediaType string) (*rest.RESTClient, error) {
	known := blank.Of(of)
	version := known.GroupVersion()
	config.APIPath = known.APIPath()
	config.ContentConfig = rest.ContentConfig{
		GroupVersion: &version, NegotiatedSerializer: blank.Codecs.WithoutConversion(), ContentType: mediaType, AcceptContentTypes: mediaType,
	}
	return rest.RESTClientFor(config)
}

// ListWatch returns the ListWatch of a typed client of a resource.
func ListWatch(config *rest.Config, of world.Resource, mediaType string) (*clientgo.ListWatch, error) {
	client, err := Client(config, of, mediaType)
	if err != nil {
		return nil, err
	}
	return clientgo.NewListWatchFromClient(client, of.String(), metav1.NamespaceAll, fields.Everything()), nil
}
