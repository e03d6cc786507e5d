// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct lets informers of github.com/kinformer/cache decode what a server sends
// themselves, straight into the type, which costs a fraction of what client-go's decoders do. One
// line, before clients are made:
//
//	config.Wrap(direct.Transport)
//
// That works for generated, dynamic and metadata clients, and for those of controller-runtime. An
// existing http.Client gets direct.Transport as its Transport. NewListWatch is for ListWatches that
// are made by hand. Other requests, and informers of client-go, are not touched.
//
// inspect.StatusOf tells whether an informer decodes directly, in which encoding, and if not, why.
// docs/direct.md explains each reason.
//
// # What stays as it is
//
// Requests are client-go's: auth, retries, Retry-After, rate limits, warnings, errors. Objects are
// deeply equal to those that it decodes. client-go decodes each event and item that this package
// does not understand for certain. It also decodes the first ones of an informer and a sample of
// the rest, for comparison: if the results ever differ, the informer returns to client-go's
// decoding for good, and requests its whole state again. It does the same if it sees that a
// ListerWatcher changes what it lists or watches. A sample does not show everything: set
// Decoding.Off if your client has a serializer that sets defaults, converts or is strict, or if
// your ListFunc filters by content. kinformer.Decoding has the options. KINFORMER_DIRECT=off in the
// environment turns direct decoding off for the process.
//
// # What to know
//
// Wrap last: transports that were wrapped after this one, and client-go's metrics of response
// sizes, see bodies of lists without most of their items; those wrapped before it see all. Wrap
// does not change a client that exists already. Where klog writes bodies, at level 8, nothing is
// decoded directly.
package direct

import (
	"net/http"

	"github.com/kinformer/cache/internal/tap"
)

// Transport returns a transport that sends requests by next, nil for http.DefaultTransport, and
// lets informers take the bodies of their lists and watches. It fits rest.Config.Wrap, and the
// Transport of a http.Client.
func Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	tap.InUse.Store(true)
	return &transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request, and offers the response to the informer that it is for, if any.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	taken := tap.From(req.Context())
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

// CloseIdleConnections closes those of the transport below, or of the first one below that has any,
// as far as those between tell what they wrap.
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
