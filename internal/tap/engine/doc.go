// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine intercepts the bodies of lists and watches between the server and a client of
// client-go's, and decodes them itself. Everything else is left to the client: authentication,
// retries, rate limits, warnings, errors, and the metadata of lists.
//
//	reflector ─▶ Source ─▶ ListerWatcher ─▶ client-go ─▶ transport (package direct) ─▶ server
//	                │  a Tap in the request's context       │ finds it: Offer
//	                └──────────── body ◀────────────────────┘
//	                               └──▶ client-go reads a substitute
//
// Guarantees:
//
//  1. In any doubt, client-go decodes. A frame or an item that this package's decoder gives up is
//     passed to the client, in its position in the same stream.
//  2. A sample of the objects is decoded by both, client-go and this package: the first frame of
//     each watch, the first and the last item of each list, the first few objects of an informer,
//     one in 16 of its first 1,000, and one in many after that. The results must be deeply equal.
//  3. A watch is decoded only if it is returned as client-go made it, a *watch.StreamWatcher.
//     Otherwise the body is given back untouched: no byte is lost, and no second request is made.
//  4. If a compared object differs, the tap is off for the informer. If a list is not as expected,
//     the tap is off for the next list, and for good after the third such list that the client can
//     decode. The caller receives a *Doubt and must list again.
//  5. Without a transport of package direct, or if the context is lost, nothing changes.
//  6. Every request is one that the client makes, in the encoding that it chose.
//  7. No byte of an object gets into logs, errors or states. A difference is reported by type and
//     path.
package engine
