// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct lets informers of github.com/kinformer/cache decode what a server sends
// themselves, straight into the type, which costs a fraction of what client-go's decoders do. One
// line, before clients are made:
//
//	config.Wrap(direct.Transport)
//
// That serves generated, dynamic and metadata clients, and controller-runtime's; an http.Client
// that exists gets direct.Transport as its Transport, and NewListWatch is for ListWatches that are
// made by hand. Other requests, and informers of client-go's, are not touched.
//
// cache.StatusOf of an informer tells whether it is on, in which encoding, and why not;
// docs/direct.md explains each reason.
//
// # What stays as it is
//
// Requests are client-go's: auth, retries, Retry-After, rate limits, warnings, errors. Objects are
// deeply equal to those that it decodes. What is not understood for sure is decoded by client-go,
// each event and each item in its place, and so are the first ones of an informer and one in many
// after that: if the results ever differ, the informer goes back to client-go's decoding for good,
// and takes its whole state over again. It does so, too, where a ListerWatcher changes what it
// lists or watches. cache.WithDecoding has the options, and KINFORMER_DIRECT=off in the environment
// is the kill switch of a process.
//
// # What to know
//
// Wrap last: transports that were wrapped after this one, and client-go's metrics of response
// sizes, see bodies of lists without most of their items; those wrapped before it see all. A client
// that exists already is not changed by Wrap. Where klog writes bodies, at level 8, nothing is
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
	return &transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request, and offers the response to the informer that it is for, if any.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	taken := tap.From(req.Context())
	if taken == nil {
		return t.next.RoundTrip(req)
	}
	hidden := tap.Hidden(req)
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
