// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct lets informers of github.com/kinformer/cache decode responses of a server themselves,
// directly into the type, at a fraction of the cost of client-go's decoders. It takes one line, before
// clients are made:
//
//	config.Wrap(direct.Transport)
//
// The line works for generated, dynamic and metadata clients, and for those of controller-runtime. For
// an existing http.Client set its Transport to direct.Transport(client.Transport). NewListWatch makes
// ListWatches without a generated client. Other requests, and informers of client-go, are not affected,
// except that a PUT of an object of which an informer has only some fields is refused: see
// kinformer.Decoding.Keep.
//
// inspect.StatusOf reports whether an informer decodes directly, in which encoding, and if not, why.
// docs/direct.md explains each reason. In a program that imports neither this package nor audit the
// client decodes everything: no code of this library reads bytes from a server.
//
// # Unchanged
//
// Requests are client-go's: auth, retries, Retry-After, rate limits, warnings, errors. Objects are
// deeply equal to those that client-go decodes. client-go decodes each event and item that this package
// is not certain to understand. It also decodes the first objects of an informer and a sample of the
// others, for comparison: if the results ever differ, the informer leaves all further decoding to
// client-go, and requests the collection again. It does the same if it detects that a ListerWatcher
// changes the objects that it lists or watches. A sample does not detect everything: set Decoding.Off
// if your client has a serializer that sets defaults, converts or is strict, or if your ListFunc
// filters by content. kinformer.Decoding has the options. KINFORMER_DIRECT=off (or false, 0 or no,
// in any case) in the environment turns direct decoding off for the process.
//
// # Limitations
//
// Wrap last: transports that were wrapped after this one, and client-go's metrics of response sizes,
// see bodies of lists without most of their items; those that were wrapped before it see complete
// bodies. Wrap does not change existing clients. If klog logs bodies, at level 8, nothing is decoded
// directly.
package direct

import (
	"net/http"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

func init() {
	tap.Install(tap.Installation{
		Engine: func(lists clientgo.ListerWatcherWithContext, example any, o tap.Options) tap.Engine {
			return engine.New(lists, example, engine.Options{Options: o})
		},
		Transport: Transport,
	})
}

// Transport returns a transport that sends requests with next, or http.DefaultTransport if next is nil,
// and lets informers read the bodies of their lists and watches. It can be passed to rest.Config.Wrap,
// and its result can be the Transport of an http.Client.
func Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	tap.InUse.Store(true)
	return &transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request, and offers the response to the informer that made the request, if any. It refuses a PUT of an
// object that an informer has in part: see kinformer.Decoding.Keep.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := engine.Refuse(req); err != nil {
		return nil, err
	}
	taken := engine.From(req.Context())
	if taken == nil {
		return t.next.RoundTrip(req)
	}
	hidden := taken.Begin(req)
	resp, err := t.next.RoundTrip(hidden)
	if err != nil || resp == nil {
		taken.Offer(req, nil)
		return resp, err
	}
	if resp.Request == hidden {
		resp.Request = req
	}
	taken.Offer(req, resp)
	return resp, nil
}

// WrappedRoundTripper returns the transport that sends the requests.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections calls CloseIdleConnections of the first transport below that has the method. The
// search follows WrappedRoundTripper.
func (t *transport) CloseIdleConnections() {
	below := t.next
	for {
		switch rt := below.(type) {
		case interface{ CloseIdleConnections() }:
			rt.CloseIdleConnections()
			return
		case interface{ WrappedRoundTripper() http.RoundTripper }:
			below = rt.WrappedRoundTripper()
		default:
			return
		}
	}
}
