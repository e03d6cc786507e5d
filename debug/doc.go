// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package debug shows the informers of a process as a page for browsers, as JSON and as text. It
// uses the standard library only, and importing it registers nothing.
//
//	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}))
//
// The page has a table of all informers that run (inspect.All), and one page for each: what it
// does, its handlers, indices, requests, errors and memory (inspect.Of). The query selects what
// is shown, whatever the path:
//
//	?                       the table, of 500 informers at most; ?from=500 has the next ones
//	?id=7                   the informer with this number
//	?format=json, text      the same, for programs and terminals
//	?refresh=off            stays as it is: has no script, and does not load itself again
//	?script                 the script
//
// and, with Options.Objects only,
//
//	?id=7&keys              keys in the store, 200 at most
//	?id=7&index=i&value=v   keys of the objects that an index has for a value, 200 at most
//	?id=7&key=ns/name       an object as JSON, 256 KiB at most
//
// # What it shows, and to whom
//
// Protect the page like the program's other internal pages. It does not check who asks, and it
// shows names of resources, handlers, indices and servers, and the texts of errors. One way is a
// listener of its own on 127.0.0.1. Another is a wrapper that asks the API server:
//
//	mux.Handle("/debug/informers/", requireAuthorization(debug.Handler(debug.Options{})))
//
// where controller-runtime's filters.WithAuthenticationAndAuthorization can be that wrapper.
//
// Without Options.Objects it shows counts: no keys, index values or objects, and no errors of the
// program's functions, which may quote those. Of a Secret it never shows more than key and
// resourceVersion. It never shows managed fields, or the annotation in which kubectl keeps what it
// has last applied.
//
// With Options.Objects it answers only for the hosts localhost, any IP address, and Options.Hosts.
// So a page of a stranger's site cannot have an operator's browser read this one, under a name that
// leads to 127.0.0.1.
//
// # What it does not do
//
// It answers GET and HEAD only, and changes nothing. Its content security policy allows only its
// own style and script, by their hashes. Nothing is loaded from elsewhere. All texts are escaped,
// and cut after 300 characters.
//
// It works without JavaScript: the server draws the charts, and pages load themselves again every
// 10 seconds. The script does that in place, every 2 seconds where there are charts, stops while
// nobody looks, and says when there is no answer. A browser that does not know hashes of script
// files runs no script; then pages stay as they are.
//
// # What it costs
//
// Nothing while nobody asks: there is no goroutine. Charts show the values of the last five
// minutes, taken whenever somebody asked for the page of that informer, once a second at most. They
// are kept for the 32 informers that were shown last, in less than a MiB.
//
// The time that a page takes grows with nothing but the informers that are shown, their handlers,
// at some microseconds each, and the values of their indices, at some nanoseconds: see
// inspect.Of. A page has 500 informers, or 100 handlers and 100 indices of one, those first that
// are stuck or behind, and says how many there are besides. However long and hostile names are, it
// stays below 2 MiB, and JSON below 8 MiB. The page of an informer with 10,000 handlers and a
// million index values takes some tens of milliseconds of processor time. The script asks so
// seldom that each viewer takes at most a twentieth of a core.
package debug
