// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kinformer/cache/bench/internal/wire"
)

// httpRow is an informer on a server that is reached over the loopback
// interface. The server is a child process with answers that it made
// beforehand, so the CPU time is the client's.
//
// Our side runs an informer for each httpWay of the row: one on a client as it is,
// a tapped one, whose client's transport is direct.Transport, so that it decodes
// itself, one that shares equal parts as well, and others. The figures of these
// are those with "tapped", "shared" and so on before their names. All have client-go's
// figure beside them.
type httpRow struct {
	encoding string // json, protobuf, or unstructured for JSON without Go types
	kind     httpKind
	resource wire.Resource
	tls      bool // with HTTP/2
	figures  httpFigures
	objects  int // of a full run: some decoders take ten times as long as others
}

// httpKind is what an informer does over HTTP.
type httpKind struct {
	name, title string
	bytes       string // which of the server's answers it gets
	watchList   bool
	updates     bool // measures what comes after the start
	pages       bool
}

var (
	httpList      = httpKind{name: "list", title: "start by list", bytes: "list"}
	httpPages     = httpKind{name: "pages", title: "start by list, in pages of 500 or a third", bytes: "list", pages: true}
	httpWatchList = httpKind{name: "watch-list", title: "start by watch-list", bytes: "initial", watchList: true}
	httpWatch     = httpKind{name: "watch", title: "one update of each object through the watch", bytes: "updates", updates: true}
)

// httpFigures is what a row is measured by.
type httpFigures struct{ name, title string }

var (
	// httpCPU is CPU time; for pods in one page or a stream also that of decoding
	// the same bytes without an informer, which tells what of it is not the
	// informer's.
	httpCPU = httpFigures{}
	// httpPeak is the heap while a list is taken over.
	httpPeak = httpFigures{name: "-peak", title: ", the heap"}
	// httpHeld is what an update takes that waits for a handler that is stuck: the
	// old object and the new one are both there.
	httpHeld = httpFigures{name: "-held", title: ", while a handler is stuck"}
	// httpOpen is how long the server has the request of a list open, when little
	// is under way in buffers.
	httpOpen = httpFigures{name: "-open", title: ", as the server sees it"}
	// httpDropped is CPU time of informers of ours that leave managed fields out,
	// and beside them of those that do not.
	httpDropped = httpFigures{name: "-dropped", title: ", ours without managed fields"}
)

// optional reports whether what a row is about is an option that few set: only a
// full run has such rows.
func (f httpFigures) optional() bool { return f == httpDropped }

// The number of objects of a full run.
const (
	httpObjectsJSON     = 2000
	httpObjectsProtobuf = 5000
	httpObjectsUntyped  = 1200
	httpObjectsSmall    = 6000
)

// page is how many objects a page has: as many as client-go asks for, or a third
// of them if there are few.
func (r httpRow) page(objects int) int {
	if !r.kind.pages {
		return 0
	}
	return min(500, max(1, objects/3))
}

func (r httpRow) mediaType() string {
	if r.encoding == "protobuf" {
		return wire.Protobuf
	}
	return wire.JSON
}

func (r httpRow) untyped() bool { return r.encoding == "unstructured" }

// alone reports whether it is one pod a deployment, which have less to share.
func (r httpRow) alone() bool { return r.resource.Population == wire.PodsAlone.Population }

// decodedAlone reports whether the bytes are decoded by themselves, too.
func (r httpRow) decodedAlone() bool {
	return r.figures == httpCPU && r.resource.ID() == wire.Pods.ID() && !r.untyped() && !r.kind.pages && !r.tls
}

func (r httpRow) name() string {
	name := "http/" + r.encoding + "-" + r.kind.name + r.figures.name
	if id := r.resource.ID(); id != wire.Pods.ID() {
		name += "-" + id
	}
	if r.tls {
		name += "-tls"
	}
	return name
}

func (r httpRow) title() string {
	title := fmt.Sprintf("%s, %s in %s%s", r.kind.title, r.resource.Name, r.encoding, r.figures.title)
	if r.alone() {
		title += ", one pod a deployment"
	}
	if r.tls {
		title += ", over TLS and HTTP/2"
	}
	return title
}

// row makes a row of the benchmark.
func (r httpRow) row() row {
	made := row{
		group: "End to end over HTTP on loopback", name: r.name(), title: r.title(),
		light: true, // its objects are the server's
		slow:  r.alone() && !r.kind.updates || r.figures.optional(),
		setup: func(ctx context.Context, e *env) (trial, error) { return httpTrial(ctx, e, r) },
	}
	if !r.decodedAlone() {
		made.rounds = fullRounds // the tap does not come out close to client-go
	}
	return made
}

// httpRows are the rows of pods first, then those of other objects, of TLS, and
// of lists alone.
func httpRows() []row {
	var all []row
	for _, r := range httpKinds() {
		all = append(all, r.row())
	}
	return all
}

func httpKinds() []httpRow {
	var all []httpRow
	of := func(encoding string, objects int, resource wire.Resource, kinds ...httpKind) {
		for _, kind := range kinds {
			all = append(all, httpRow{encoding: encoding, kind: kind, resource: resource, objects: objects})
		}
	}
	of("json", httpObjectsJSON, wire.Pods, httpList, httpPages, httpWatchList, httpWatch)
	of("protobuf", httpObjectsProtobuf, wire.Pods, httpList, httpPages, httpWatchList, httpWatch)
	of("unstructured", httpObjectsUntyped, wire.Pods, httpList, httpPages, httpWatchList, httpWatch)
	of("json", httpObjectsSmall, wire.ConfigMaps, httpList, httpWatch)
	of("protobuf", httpObjectsSmall, wire.ConfigMaps, httpList, httpWatch)
	of("json", httpObjectsSmall, wire.Leases, httpWatch)
	of("protobuf", httpObjectsSmall, wire.Leases, httpWatch)
	of("unstructured", httpObjectsSmall/2, wire.Certificates, httpList, httpWatch)
	of("json", httpObjectsJSON, wire.PodsAlone, httpWatchList, httpWatch)
	of("protobuf", httpObjectsProtobuf, wire.PodsAlone, httpList, httpWatchList, httpWatch)
	of("unstructured", httpObjectsUntyped, wire.PodsAlone, httpWatch)
	for _, encoding := range []string{"json", "protobuf"} {
		objects := map[string]int{"json": httpObjectsJSON, "protobuf": httpObjectsProtobuf}[encoding]
		all = append(all,
			httpRow{encoding: encoding, kind: httpWatch, resource: wire.Pods, tls: true, objects: objects},
			httpRow{encoding: encoding, kind: httpList, resource: wire.Pods, figures: httpOpen, objects: httpObjectsOpen})
	}
	for _, kind := range []httpKind{httpList, httpWatch} {
		all = append(all,
			httpRow{encoding: "json", kind: kind, resource: wire.Pods, figures: httpDropped, objects: httpObjectsJSON},
			httpRow{encoding: "protobuf", kind: kind, resource: wire.Pods, figures: httpDropped, objects: httpObjectsProtobuf})
	}
	for _, pods := range []wire.Resource{wire.Pods, wire.PodsAlone} {
		all = append(all, httpRow{encoding: "protobuf", kind: httpWatch, resource: pods, figures: httpHeld, objects: httpObjectsProtobuf})
	}
	all = append(all, httpRow{encoding: "protobuf", kind: httpList, resource: wire.PodsAlone, figures: httpPeak, objects: httpObjectsPeak})
	for _, encoding := range []string{"json", "protobuf", "unstructured"} { // last: see httpTrial
		objects := map[string]int{"unstructured": httpObjectsPeak / 4}[encoding]
		all = append(all, httpRow{encoding: encoding, kind: httpList, resource: wire.Pods, figures: httpPeak, objects: cmp.Or(objects, httpObjectsPeak)})
	}
	return all
}

const (
	// httpObjectsOpen are as many as fit into what an informer reads ahead.
	httpObjectsOpen = 3000
	// httpObjectsPeak are more: peaks matter where lists are long.
	httpObjectsPeak = 6000
)
