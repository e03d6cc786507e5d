// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tap takes the bodies of lists and watches on their way from the server to a client of
// client-go's, decodes them itself, and leaves everything else to that client: auth, retries, rate
// limits, warnings, errors, the meaning of a list's metadata.
//
//	reflector ─▶ Source ─▶ ListerWatcher ─▶ client-go ─▶ transport (package direct) ─▶ server
//	                │  a tap in the request's context       │ finds it: Offer
//	                └──────────── body ◀────────────────────┘
//	                               └──▶ client-go reads a substitute
//
// What it promises:
//
//  1. Every doubt ends in client-go's own decoding. A frame, or an item, that our decoder gives up
//     is passed on, in its place, on the same stream.
//  2. The first frame of each watch, and the first and the last item of each list, go both ways,
//     and so do the first few of an informer, one in 16 of the first 1,000 and one in many after
//     that. What comes out must be deeply equal.
//  3. A watch is followed only if it comes back as client-go made it, a *watch.StreamWatcher. Else
//     the body is given back untouched: no byte is lost, and no second request made.
//  4. If a compared object is not what it should be, the tap is off for the informer. If a list is
//     not, the tap is off for the next one, and for good at the third that the client can decode.
//     The caller is told by a *Doubt: the whole state has to be taken over again, as it was before.
//  5. Without a transport of package direct, or where the context does not arrive, nothing changes.
//  6. Nothing is requested that the client did not request, and nothing in another encoding.
//  7. No byte of an object gets into logs, errors or states: a difference is told by type and path.
package tap
